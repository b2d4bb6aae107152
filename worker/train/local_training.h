// Ranks that train on local tables.
#ifndef SERAPH_WORKER_TRAIN_LOCAL_TRAINING_H_
#define SERAPH_WORKER_TRAIN_LOCAL_TRAINING_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/metrics/metric_sums.h"
#include "worker/train/local_tables.h"
#include "worker/train/rank_machine.h"

namespace seraph {

struct LocalEpoch {
  double train_seconds = 0;  // Of the rank that took longest.
  MetricSums validation;     // Over all ranks.
};

// Runs each rank to its end on a thread of its own, as RankRunner does, with
// tables in place of servers and no scheduler: at the end of an epoch the ranks
// wait for each other, and go on. Returns what the epochs were.
//
// Requires: all machines have RankOptions::epoch_barrier, a validation set, a
// clock, and the same number of epochs.
// Errors: the first of a rank.
absl::StatusOr<std::vector<LocalEpoch>> TrainOnLocalTables(
    absl::Span<RankMachine* const> ranks, LocalTables* tables);

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_LOCAL_TRAINING_H_
