// Where the rows of a model go when it is exported.
#ifndef SERAPH_CLIENT_EXPORT_MODEL_SINK_H_
#define SERAPH_CLIENT_EXPORT_MODEL_SINK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/model_file/model_file_format.h"
#include "common/model_file/model_metadata.h"

namespace seraph {

// A table of the model, before its rows come.
struct TableSurvey {
  ModelTableHeader header;
  uint64_t rows = 0;
  Key first_key = 0;  // The least and the greatest; without rows they mean
  Key last_key = 0;   // nothing.

  // Whether the keys are 0, 1, ... rows - 1.
  bool IsContiguous() const { return rows == 0 || last_key + 1 == rows; }
};

// What is known of a model before its rows come.
struct ModelSurvey {
  ModelMetadata metadata;
  std::vector<TableSurvey> tables;  // By name.
  std::string digest;
};

// Writes an exported model. The target has its name only after Finish(); a sink
// that is destroyed before leaves nothing behind.
//
// Errors of all methods: whatever the disk says, with the path.
// Threads: one at a time. Memory: bounded, whatever the model.
class ModelSink {
 public:
  virtual ~ModelSink() = default;

  // The tables come in the survey's order, each with its rows, keys ascending;
  // `values` is [keys * width], row-major.
  virtual absl::Status BeginTable(const TableSurvey& table) = 0;
  virtual absl::Status AddRows(absl::Span<const Key> keys,
                               absl::Span<const float> values) = 0;
  virtual absl::Status Finish() = 0;

  // The files that Finish() has made.
  virtual std::vector<std::string> files() const = 0;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_EXPORT_MODEL_SINK_H_
