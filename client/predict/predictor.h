// Scores the records of files with a model.
#ifndef SERAPH_CLIENT_PREDICT_PREDICTOR_H_
#define SERAPH_CLIENT_PREDICT_PREDICTOR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/base/interrupt.h"
#include "common/dataset/data_options.h"
#include "common/model_file/loaded_model.h"

namespace seraph {

struct PredictOptions {
  std::string data;  // A file, a folder or a glob.
  DataFormat format = DataFormat::kLibsvm;
  DataOptions options;
  std::string out;
  bool probabilities = false;  // softmax: of all classes.

  // Bytes (uncompressed) that are read and scored at a time.
  uint64_t block_bytes = uint64_t{4} << 20;
  // Scores in memory for the AUC.
  size_t max_scores = size_t{1} << 20;
};

struct PredictSummary {
  uint64_t predictions = 0;
  uint64_t bad_records = 0;  // Passed over.
  uint64_t labelled = 0;     // Of the predictions; the metrics are of these.
  std::vector<std::pair<std::string, double>> metrics;  // By ReportMetrics.
  std::vector<std::string> warnings;
};

// Writes a line for each record to `options.out` (AppendPrediction), in the
// order of the files (sorted by path) and of the records in them. A label that
// the model does not know counts as none, with a warning.
//
// Memory: the model, and a block. Compressed files are decompressed into the
// system's temporary folder.
// Errors: InputError of the data, naming file and line; OutputError of the
// output; Cancelled. Without a success there is no output.
absl::StatusOr<PredictSummary> Predict(
    const LoadedModel& model, const PredictOptions& options,
    const Interrupt& interrupt,
    const std::function<void(double fraction, uint64_t predictions)>&
        on_progress);

}  // namespace seraph

#endif  // SERAPH_CLIENT_PREDICT_PREDICTOR_H_
