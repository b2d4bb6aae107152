// A table on a cluster that nobody trains on.
#ifndef SERAPH_CLIENT_BENCH_HELD_TABLES_H_
#define SERAPH_CLIENT_BENCH_HELD_TABLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/base/interrupt.h"
#include "client/bench/bench_options.h"
#include "client/rpc/scheduler_client.h"
#include "common/cluster/node.h"
#include "worker/client/table_router.h"

namespace seraph {

// What the servers say of the partitions that they lead.
struct HeldCounts {
  uint64_t rows = 0;
  uint64_t memory_bytes = 0;  // As the servers count it.
  uint64_t log_records = 0;
};

// Tables belong to jobs. So this is an asp job with the table that was asked
// for, whose data are records without features: its ranks, as the cluster's
// workers run them, touch no row, and end when a later attempt of them begins.
// That is what the measured clients are (rank_load.h).
//
// Threads: one at a time.
class HeldTables {
 public:
  // Submits the job and waits until its table can be used, with all of its
  // replicas. `scheduler` must outlive this; the job's files go to `folder`,
  // which the cluster's workers must see too.
  // Errors: what the scheduler says; FailedPrecondition where the job does not
  // get what it needs, with what it waits for; Cancelled.
  static absl::StatusOr<std::unique_ptr<HeldTables>> Create(
      const BenchOptions& options, SchedulerClient* scheduler,
      const std::string& folder, Interrupt* interrupt);

  // Cancels the job.
  ~HeldTables();
  HeldTables(const HeldTables&) = delete;
  HeldTables& operator=(const HeldTables&) = delete;

  const std::string& job() const { return job_; }
  // One table; where its partitions were when the job began to train.
  const std::shared_ptr<const TableRouter>& router() const { return router_; }

  // Errors: a server that does not answer.
  absl::StatusOr<HeldCounts> Count() const;

 private:
  HeldTables(SchedulerClient* scheduler, std::string job)
      : scheduler_(*scheduler), job_(std::move(job)) {}

  absl::Status AwaitTraining(const BenchOptions& options, Interrupt* interrupt);
  absl::Status FindPartitions(const BenchOptions& options);

  SchedulerClient& scheduler_;
  const std::string job_;
  std::vector<Node> servers_;
  std::shared_ptr<const TableRouter> router_;
};

// The job file; `data` is its training data.
std::string HeldJobYaml(const BenchOptions& options, const std::string& data);

// Of the job, for tables whose number is left to the cluster.
inline constexpr uint32_t kDefaultPartitions = 8;

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_HELD_TABLES_H_
