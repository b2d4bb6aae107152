// Measures training.
#ifndef SERAPH_CLIENT_BENCH_TRAIN_BENCH_H_
#define SERAPH_CLIENT_BENCH_TRAIN_BENCH_H_

#include "absl/status/statusor.h"
#include "client/bench/bench_cluster.h"
#include "client/bench/bench_options.h"
#include "client/bench/bench_report.h"
#include "client/cli/environment.h"

namespace seraph {

// Trains a logistic regression on generated examples, asp with as many ranks as
// were asked for, on a cluster; then the same ranks on local tables in this
// process. Both read the same file, shuffle, sort keys, and so on: what differs
// is where the rows are. The first epoch, in which caches fill and rows are
// made, does not count. Progress goes to env.err; when it returns, nothing that
// it started runs any more.
//
// Errors: what a job can fail with; Unimplemented for an optimizer that local
// tables do not know.
absl::StatusOr<TrainReport> BenchTraining(const BenchOptions& options,
                                          const BenchPlace& place,
                                          const Environment& env);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_TRAIN_BENCH_H_
