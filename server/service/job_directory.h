// The jobs whose partitions this server holds.
#ifndef SERAPH_SERVER_SERVICE_JOB_DIRECTORY_H_
#define SERAPH_SERVER_SERVICE_JOB_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/thread_pool.h"
#include "common/table/table_spec.h"
#include "server/core/sync_policy.h"
#include "server/service/partition_actor.h"

namespace seraph {

// A job's current life, as messages name it.
struct JobName {
  std::string id;
  uint64_t generation = 0;
};

// One generation of a job on this server. Immutable but for what its actors
// guard; shared with the requests that run.
struct ServedJob {
  JobName name;
  std::vector<TableSpec> tables;  // All of the job.
  // Those held here, by (table, partition).
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<PartitionActor>>
      partitions;

  // Null where this server does not hold it.
  PartitionActor* Find(uint32_t table, uint32_t partition) const {
    const auto it = partitions.find({table, partition});
    return it == partitions.end() ? nullptr : it->second.get();
  }
};

// What the scheduler orders this server to hold of a job.
struct Assignment {
  struct Piece {
    uint32_t table = 0;
    uint32_t partition = 0;
    uint64_t epoch = 0;
  };

  JobName job;
  uint32_t ranks = 1;
  SyncPolicy sync;
  uint64_t steps_per_epoch = 1;
  uint64_t epochs = 1;
  bool skip_non_finite = false;
  std::vector<TableSpec> tables;
  std::vector<Piece> pieces;
};

// Threads: every method may be called from any thread. References to jobs must
// be gone before this is.
class JobDirectory {
 public:
  // `executor` must outlive this.
  JobDirectory(Executor* executor, uint64_t memory_limit_bytes)
      : executor_(executor),
        budget_(memory_limit_bytes),
        reaper_("job-reaper", 1) {}

  // Creates the partitions, empty, in place of those of an older generation.
  // Done once per generation; a repeat, also after Drop, changes nothing.
  // Errors, which change nothing: FailedPrecondition (an older generation, or
  // one that was dropped), InvalidArgument (a table or partition that cannot
  // be), ResourceExhausted (the tables do not fit into the memory limit).
  absl::Status Assign(const Assignment& assignment) ABSL_LOCKS_EXCLUDED(mu_);

  // The job, if it is here in exactly this generation. Errors: NotFound;
  // FailedPrecondition with the reason GENERATION_NEWER (not yet here) or
  // GENERATION_STALE.
  absl::StatusOr<std::shared_ptr<const ServedJob>> Find(
      const JobName& name) const ABSL_LOCKS_EXCLUDED(mu_);

  // Frees the job of this or an older generation, and refuses it from now on.
  void Drop(const JobName& name) ABSL_LOCKS_EXCLUDED(mu_);

  // Frees everything: the scheduler has given this server's work away.
  void DropAll() ABSL_LOCKS_EXCLUDED(mu_);

  std::vector<std::shared_ptr<const ServedJob>> All() const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::StatusOr<std::shared_ptr<const ServedJob>> Build(
      const Assignment& assignment);

  Executor* const executor_;
  MemoryBudget budget_;
  // Frees jobs: an actor waits there for what runs, wherever the last
  // reference to its job was given up.
  ThreadPool reaper_;

  mutable Mutex mu_;
  std::map<std::string, std::shared_ptr<const ServedJob>> jobs_
      ABSL_GUARDED_BY(mu_);
  // The highest generation dropped, of each job that ever was here.
  std::map<std::string, uint64_t> dropped_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_JOB_DIRECTORY_H_
