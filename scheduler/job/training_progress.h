// How far a job's training is, as its ledger tells.
#ifndef SERAPH_SCHEDULER_JOB_TRAINING_PROGRESS_H_
#define SERAPH_SCHEDULER_JOB_TRAINING_PROGRESS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/metrics/metric_sums.h"
#include "scheduler/job/order.h"

namespace seraph {

// The sums of an epoch are those that each rank's entry at its end carries,
// added in rank order: the same, however often and whenever the ledger was
// read.
//
// Threads: one at a time.
class TrainingProgress {
 public:
  // `finished`: the sums of the epochs that had ended before.
  explicit TrainingProgress(uint32_t ranks,
                            std::vector<MetricSums> finished = {});

  // Errors: InvalidArgument for a reading with another number of ranks, or sums
  // that are none; what was known stays.
  absl::Status Take(const LedgerReading& reading, absl::Duration now);

  // Epochs that every rank has ended; also the first one still to be read.
  uint32_t finished() const { return finished_.size(); }

  // Of a finished epoch.
  const MetricSums& EpochSums(uint32_t epoch) const { return finished_[epoch]; }
  const std::vector<MetricSums>& AllEpochSums() const { return finished_; }

  // Of the epoch after those, so far.
  const MetricSums& Running() const { return running_; }

  // Over the last seconds.
  double examples_per_second() const;

 private:
  using PerRank = std::vector<std::optional<MetricSums>>;  // [ranks].

  static constexpr absl::Duration kRateWindow = absl::Seconds(5);

  const uint32_t ranks_;
  std::vector<MetricSums> finished_;
  double finished_examples_ = 0;
  std::deque<PerRank> ends_;  // Of the epochs from finished() on.
  MetricSums running_;
  std::deque<std::pair<absl::Duration, double>> totals_;  // When, how many.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_TRAINING_PROGRESS_H_
