// A model as NumPy arrays.
//
// Source: "A simple file format for NumPy arrays", NEP 1, version 1.0.
#ifndef SERAPH_CLIENT_EXPORT_NPY_SINK_H_
#define SERAPH_CLIENT_EXPORT_NPY_SINK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/export/model_sink.h"

namespace seraph {

// Of a model with one table whose keys are 0, 1, 2 ...: `path` is the .npy file
// of its values. Of any other: `path` is a new folder (or an empty one) with
// "<table>.npy" for each table, and "<table>.keys.npy", uint64, beside those
// with other keys. Values are float32, [rows], or [rows, width] where the width
// is not 1.
//
// Errors: as AtomicFile; FailedPrecondition for a folder that is not empty, or
// a file where a folder is needed.
absl::StatusOr<std::unique_ptr<ModelSink>> MakeNpySink(
    const std::string& path, const ModelSurvey& survey);

// The head of an .npy file. `type` is NumPy's: "<f4", "<u8".
std::string NpyHeader(absl::string_view type,
                      const std::vector<uint64_t>& shape);

}  // namespace seraph

#endif  // SERAPH_CLIENT_EXPORT_NPY_SINK_H_
