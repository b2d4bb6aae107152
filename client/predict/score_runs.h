// The scores of any number of examples, for an exact AUC in bounded memory.
#ifndef SERAPH_CLIENT_PREDICT_SCORE_RUNS_H_
#define SERAPH_CLIENT_PREDICT_SCORE_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/metrics/auc.h"

namespace seraph {

// Keeps sorted runs of scores in a temporary file without a name.
//
// Threads: one at a time. Memory: about 24 bytes for each of `max_scores`, and
// 96 KiB for each run at the end. Disk: 24 bytes for each distinct score.
class ScoreRuns {
 public:
  explicit ScoreRuns(size_t max_scores);
  ~ScoreRuns();
  ScoreRuns(const ScoreRuns&) = delete;
  ScoreRuns& operator=(const ScoreRuns&) = delete;

  // Requires: `score` is not NaN.
  void Add(double score, bool positive) { builder_.Add(score, positive); }

  // The AUC of all that was added; unset without positives or negatives.
  // Nothing may be called afterwards.
  // Errors: those of the temporary file, of now or of an earlier Add.
  absl::StatusOr<std::optional<double>> Finish();

 private:
  struct Run {
    uint64_t offset = 0;  // In the file, in elements.
    uint64_t size = 0;
  };

  void Write(AucRun run);
  AucRunSource SourceOf(const Run& run) const;

  int fd_ = -1;  // Opened at the first run.
  absl::Status status_;
  uint64_t written_ = 0;  // Elements.
  std::vector<Run> runs_;
  AucRunBuilder builder_;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_PREDICT_SCORE_RUNS_H_
