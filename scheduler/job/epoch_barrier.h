// Where the ranks of a job meet at the end of an epoch.
#ifndef SERAPH_SCHEDULER_JOB_EPOCH_BARRIER_H_
#define SERAPH_SCHEDULER_JOB_EPOCH_BARRIER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/order.h"

namespace seraph {

// What a rank brings to the end of an epoch.
struct EpochReport {
  RankRef rank;
  uint32_t epoch = 0;        // From 0.
  std::vector<double> sums;  // MetricSums of its validation share.
  std::string run_file;      // Its scores, sorted; "" without any.
  double train_seconds = 0;  // What the epoch took; 0: unknown.
};

// One share of each rank is taken for an epoch, the first one; a repeat only
// waits for the answer. The decision is made once: whoever asks later for the
// same epoch, because the answer was lost, gets the same.
//
// Threads: one at a time.
class EpochBarrier {
 public:
  // `decided`: epochs that were decided before, after the last of which the job
  // stopped or not.
  EpochBarrier(JobRef job, uint32_t ranks, uint32_t decided = 0,
               bool stopped = false);

  // The epoch whose end is awaited.
  uint32_t epoch() const { return epoch_; }

  // Takes the share and parks the waiter, instead of an earlier waiter of the
  // rank, who is told so; answers at once if the epoch is decided. Files of
  // shares that are not needed are removed.
  //
  // Errors: FailedPrecondition for an epoch that has not begun, or after
  // Close(); nothing is changed or ordered then.
  // Requires: share.rank.rank < ranks.
  absl::Status Take(EpochReport share, uint64_t waiter, Orders* out);

  // Whether all shares of epoch() are there.
  bool complete() const { return shares_.size() == ranks_; }

  // By rank.
  const std::map<uint32_t, EpochReport>& shares() const { return shares_; }

  // The last decision was to stop: nobody comes any more.
  bool stopped() const { return stopped_; }

  // Answers everybody who waits, and begins the next epoch.
  // Requires: complete().
  void Decide(bool stop, Orders* out);

  // Answers everybody who waits with `why`, an error, and removes all files.
  void Close(const absl::Status& why, Orders* out);

 private:
  void Answer(uint64_t waiter, const absl::Status& status, bool stop,
              Orders* out) const;
  void RemoveFiles(std::vector<std::string> files, Orders* out) const;
  std::vector<std::string> TakeFiles();

  const JobRef job_;
  const uint32_t ranks_;
  uint32_t epoch_;
  bool stopped_;  // Decided after epoch_ - 1.
  std::optional<absl::Status> closed_;
  std::map<uint32_t, EpochReport> shares_;  // By rank.
  std::map<uint32_t, uint64_t> waiters_;    // By rank.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_EPOCH_BARRIER_H_
