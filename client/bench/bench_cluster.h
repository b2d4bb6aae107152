// The cluster that is measured.
#ifndef SERAPH_CLIENT_BENCH_BENCH_CLUSTER_H_
#define SERAPH_CLIENT_BENCH_BENCH_CLUSTER_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/environment.h"
#include "client/local/local_cluster.h"
#include "client/rpc/scheduler_client.h"

namespace seraph {

// Where to measure.
struct BenchPlace {
  LocalClusterOptions local;  // Of the clusters that are started for it.
  // A cluster that is there. Unset: one is started. What it is measured
  // against is always on this machine.
  std::optional<std::string> scheduler;
  absl::Duration call_timeout = absl::Seconds(30);
};

// One that is there, or one of our own, which goes with this.
//
// Threads: one at a time, the one that made it.
class BenchCluster {
 public:
  // Returns when all of a local cluster's nodes are there.
  // Errors: as LocalCluster::Start; what the scheduler says.
  static absl::StatusOr<std::unique_ptr<BenchCluster>> StartLocal(
      const LocalClusterOptions& options, const Environment& env);
  static std::unique_ptr<BenchCluster> Connect(const std::string& scheduler,
                                               absl::Duration call_timeout,
                                               const Environment& env);

  ~BenchCluster();
  BenchCluster(const BenchCluster&) = delete;
  BenchCluster& operator=(const BenchCluster&) = delete;

  SchedulerClient* scheduler() { return client_.get(); }

  // The processes whose cost can be looked at; empty where they are not ours.
  const std::vector<pid_t>& servers() const { return servers_; }
  const std::vector<pid_t>& workers() const { return workers_; }

  // As LocalCluster::Check: why the cluster does not answer, where that is
  // known.
  absl::Status Check();

 private:
  BenchCluster() = default;

  std::unique_ptr<LocalCluster> local_;  // Null: it was there.
  std::unique_ptr<SchedulerClient> client_;
  std::vector<pid_t> servers_;
  std::vector<pid_t> workers_;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_BENCH_CLUSTER_H_
