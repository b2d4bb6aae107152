// A model as a model file: a checked copy.
#ifndef SERAPH_CLIENT_EXPORT_SERAPH_SINK_H_
#define SERAPH_CLIENT_EXPORT_SERAPH_SINK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/export/model_sink.h"

namespace seraph {

// Errors: as ModelFileWriter.
absl::StatusOr<std::unique_ptr<ModelSink>> MakeSeraphSink(
    const std::string& path, const ModelSurvey& survey);

}  // namespace seraph

#endif  // SERAPH_CLIENT_EXPORT_SERAPH_SINK_H_
