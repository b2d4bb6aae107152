// A model as lines of text.
#ifndef SERAPH_CLIENT_EXPORT_TEXT_SINK_H_
#define SERAPH_CLIENT_EXPORT_TEXT_SINK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/export/model_sink.h"

namespace seraph {

// Where every table has the width 1 (linear models with one score): a line
// "key<TAB>weight" for each row, keys ascending, the bias last as
// "bias<TAB>weight". Else "table<TAB>key<TAB>v1 v2 ...", tables by name. Floats
// are the shortest texts that read back to the same bits.
//
// Errors: as AtomicFile.
absl::StatusOr<std::unique_ptr<ModelSink>> MakeTextSink(
    const std::string& path, const ModelSurvey& survey);

}  // namespace seraph

#endif  // SERAPH_CLIENT_EXPORT_TEXT_SINK_H_
