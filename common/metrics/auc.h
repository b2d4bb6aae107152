// The exact area under the ROC curve over the scores of all ranks.
//
// AUC = (pairs of a positive and a negative example where the positive scores
// higher, equal ones counted half) / (all such pairs). Each rank sorts its
// scores in bounded memory into runs; the runs of all ranks are merged,
// streamed. All counts are integers, so that the result has the same bits for
// every split of the examples over ranks and runs.
//
// Source: Hanley and McNeil, "The Meaning and Use of the Area under a Receiver
// Operating Characteristic (ROC) Curve", Radiology 143, 1982 (the Wilcoxon
// statistic).
#ifndef SERAPH_COMMON_METRICS_AUC_H_
#define SERAPH_COMMON_METRICS_AUC_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace seraph {

// All examples of a run that have one score.
struct ScoreCount {
  double score = 0;
  uint64_t positives = 0;
  uint64_t negatives = 0;

  friend bool operator==(const ScoreCount&, const ScoreCount&) = default;
};

// Scores strictly increasing.
using AucRun = std::vector<ScoreCount>;

// Collects scores, and hands out a run whenever memory holds `max_scores`
// distinct ones. Memory: 24 bytes for each of them, about. One thread.
class AucRunBuilder {
 public:
  // `emit` takes each run, none empty. max_scores >= 1.
  AucRunBuilder(size_t max_scores, std::function<void(AucRun)> emit);

  // Requires: `score` is not NaN. -0 and 0 are one score.
  void Add(double score, bool positive);

  // Hands out what is left; the builder is then as new.
  void Finish();

 private:
  void Compact();

  const size_t max_scores_;
  const std::function<void(AucRun)> emit_;
  // counts_[0, sorted_) has strictly increasing scores; the rest is as added.
  AucRun counts_;
  size_t sorted_ = 0;
};

// The next element of a run, nullopt at its end, or why it cannot be read.
using AucRunSource = std::function<absl::StatusOr<std::optional<ScoreCount>>()>;

struct AucResult {
  uint64_t positives = 0;
  uint64_t negatives = 0;
  std::optional<double> auc;  // Unset without positives or without negatives.
};

// Merges any number of runs, holding one element of each.
//
// Errors: whatever a source returns; InvalidArgument for a run whose scores do
// not increase, or a score that is NaN; ResourceExhausted for more than 2^62
// examples.
absl::StatusOr<AucResult> MergeAuc(std::vector<AucRunSource> sources);

// A source over a run in memory.
AucRunSource SourceOf(AucRun run);

}  // namespace seraph

#endif  // SERAPH_COMMON_METRICS_AUC_H_
