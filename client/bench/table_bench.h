// Measures pulls and pushes.
#ifndef SERAPH_CLIENT_BENCH_TABLE_BENCH_H_
#define SERAPH_CLIENT_BENCH_TABLE_BENCH_H_

#include "absl/status/statusor.h"
#include "client/bench/bench_cluster.h"
#include "client/bench/bench_options.h"
#include "client/bench/bench_report.h"
#include "client/cli/environment.h"

namespace seraph {

// Makes the table and fills it, if its operations need rows; runs the clients
// for the time that is asked for; then the baselines. Progress goes to
// env.err. When it returns, nothing that it started runs any more, and the
// table is gone.
//
// Threads: the calling one, which must live as long as the process's children;
// one for each client.
absl::StatusOr<TableReport> BenchTable(const BenchOptions& options,
                                       const BenchPlace& place,
                                       const Environment& env);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_TABLE_BENCH_H_
