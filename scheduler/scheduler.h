// The scheduler daemon: who is in the cluster, and what its jobs do.
#ifndef SERAPH_SCHEDULER_SCHEDULER_H_
#define SERAPH_SCHEDULER_SCHEDULER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/cluster_config.h"
#include "common/daemon/daemon_main.h"

namespace seraph {

// A scheduler in this process: builds everything in order and owns it.
//
// Threads: Stop belongs to the owner.
class Scheduler {
 public:
  // Listens and serves, ready at once.
  // Errors: whatever keeps it from listening, or from using its state
  // directory, each with the key of the cluster file.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Start(
      const ClusterConfig& config);

  ~Scheduler();  // As Stop.

  // Where it listens.
  const std::string& address() const;

  // Jobs fail and are freed on the nodes, as far as rpc.shutdown_grace allows;
  // streams and waiting ranks are told; calls end. May be repeated.
  void Stop();

 private:
  struct Parts;
  explicit Scheduler(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// Serves until the context's stop signal, then stops in good order.
// Errors: as Scheduler::Start.
absl::Status RunScheduler(DaemonContext* context);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SCHEDULER_H_
