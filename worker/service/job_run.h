// What a worker holds of a job: its data, and the ranks that it runs.
#ifndef SERAPH_WORKER_SERVICE_JOB_RUN_H_
#define SERAPH_WORKER_SERVICE_JOB_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/cluster/partition_placement.h"
#include "common/concurrent/mutex.h"
#include "common/dataset/dataset_facts.h"
#include "common/dataset/label_map.h"
#include "common/job/job_spec.h"
#include "common/rpc/scheduler_channel.h"
#include "common/table/table_spec.h"
#include "worker/client/table_router.h"
#include "worker/data/block_source.h"
#include "worker/service/link_cache.h"
#include "worker/train/rank_runner.h"

namespace seraph {

// The scheduler's order, as plain data.
struct JobOrder {
  std::string job;
  uint64_t generation = 1;
  JobSpec spec;
  DatasetFacts train;
  // Unset: none, or records of `train` (spec.data.validation_fraction).
  std::optional<DatasetFacts> validation;
  LabelMap labels;
  std::vector<TableSpec> tables;
  std::vector<PartitionPlacement> partitions;
  bool epoch_barrier = false;
  uint64_t placements_version = 0;
  absl::Duration lease = absl::Seconds(5);
};

// Bytes of records that a job may hold in a worker process.
struct JobMemory {
  uint64_t rank_bytes = 0;   // What each of its ranks shuffles.
  uint64_t cache_bytes = 0;  // What may stay from epoch to epoch.
};

// What all jobs of the process share; must outlive them.
struct WorkerParts {
  uint64_t incarnation = 0;
  LinkCache* links = nullptr;
  Spool* spool = nullptr;
  SchedulerChannel* scheduler = nullptr;
  absl::Duration call_timeout = absl::Seconds(10);
  absl::Duration retry_backoff = absl::Milliseconds(20);
  absl::Duration retry_backoff_max = absl::Seconds(2);
  uint64_t max_message_bytes = uint64_t{64} << 20;
};

// Threads: every method may be called from any thread.
class JobRun {
 public:
  // Errors: InvalidArgument for an order that contradicts itself.
  static absl::StatusOr<std::unique_ptr<JobRun>> Create(JobOrder order,
                                                        JobMemory memory,
                                                        WorkerParts parts);

  // Stops the ranks and waits for them.
  ~JobRun();

  uint64_t generation() const { return order_.generation; }

  const JobMemory& memory() const { return memory_; }
  // What the job may hold here, with these ranks beside those that it has.
  uint64_t BytesWith(absl::Span<const uint32_t> ranks) const
      ABSL_LOCKS_EXCLUDED(mu_);

  // Newer placements, for all ranks, those to come too; older ones change
  // nothing.
  // Errors: InvalidArgument unless they are the partitions of the job.
  absl::Status UpdatePlacements(uint64_t version,
                                std::vector<PartitionPlacement> placements)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Starts an attempt of a rank, in place of an older one. A repeat, or an
  // older attempt, changes nothing.
  // Errors: InvalidArgument for a rank that the job does not have.
  absl::Status StartRank(uint32_t rank, uint32_t attempt)
      ABSL_LOCKS_EXCLUDED(mu_);

  // As RankRunner's, of all ranks.
  void AskSchedulerAnew() ABSL_LOCKS_EXCLUDED(mu_);

  // Likewise.
  void WindDown() ABSL_LOCKS_EXCLUDED(mu_);

  // Those that run: some may have ended.
  size_t ranks() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct RunningRank {
    uint32_t attempt = 0;
    std::unique_ptr<RankRunner> runner;
  };

  JobRun(JobOrder order, JobMemory memory, WorkerParts parts,
         std::shared_ptr<const TableRouter> router);
  std::unique_ptr<RankRunner> MakeRunner(
      uint32_t rank, uint32_t attempt,
      std::shared_ptr<const TableRouter> router);

  const JobOrder order_;
  const JobMemory memory_;
  const WorkerParts parts_;
  std::unique_ptr<BlockSource> train_;
  std::unique_ptr<BlockSource> validation_;  // Null: train_, or none.

  mutable Mutex mu_;
  std::shared_ptr<const TableRouter> router_ ABSL_GUARDED_BY(mu_);
  std::map<uint32_t, RunningRank> ranks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_WORKER_SERVICE_JOB_RUN_H_
