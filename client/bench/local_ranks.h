// A job's ranks in this process, on local tables.
#ifndef SERAPH_CLIENT_BENCH_LOCAL_RANKS_H_
#define SERAPH_CLIENT_BENCH_LOCAL_RANKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/job/job_file.h"
#include "worker/train/local_training.h"

namespace seraph {

// Does for a job what scheduler and worker do before its ranks run (the pass
// over the data, labels, tables) and runs them all here, each on a thread.
// Records stay in memory from epoch to epoch, as in a worker that has room.
//
// Requires: a job with validation. `folder` is for files of its own.
// Errors: what the data can be refused for; as LocalTables::Make.
absl::StatusOr<std::vector<LocalEpoch>> RunRanksLocally(
    const JobFile& job, const std::string& folder);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_LOCAL_RANKS_H_
