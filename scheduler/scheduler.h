// The scheduler daemon: who is in the cluster, and what its jobs do.
#ifndef SERAPH_SCHEDULER_SCHEDULER_H_
#define SERAPH_SCHEDULER_SCHEDULER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/cluster_config.h"
#include "common/daemon/daemon_main.h"
#include "scheduler/io/state_folder.h"
#include "scheduler/store/state_store.h"

namespace seraph {

// What a scheduler has of its own, beside its configuration.
struct SchedulerParts {
  std::shared_ptr<StateFolder> folder;
  std::unique_ptr<StateStore> store;  // Ours as long as it lives.
  std::string listen;                 // In place of scheduler.listen.
};

// scheduler.state_directory, or what it stands for when it is empty.
// Errors: as StateFolder.
absl::StatusOr<std::shared_ptr<StateFolder>> OpenStateFolder(
    const ClusterConfig& config);

// The folder, and the store in it or, where nothing is kept, in memory: for all
// stores but etcd.
// Errors: whatever keeps us from using them, with the key of the cluster file.
absl::StatusOr<SchedulerParts> OpenLocalState(const ClusterConfig& config);

// A scheduler in this process: builds everything in order and owns it.
//
// Threads: halted() may be called from any thread; Stop belongs to the owner.
class Scheduler {
 public:
  // Goes on with the jobs that are stored, listens and serves, ready at once.
  // Errors: whatever keeps it from listening, or from reading what is stored.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Start(
      const ClusterConfig& config, SchedulerParts parts);
  // With OpenLocalState.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Start(
      const ClusterConfig& config);

  ~Scheduler();  // As Stop.

  // Where it listens.
  const std::string& address() const;

  // OK, or why it cannot go on and has to be stopped.
  absl::Status halted() const;

  // With a durable store jobs go on where they are, until the scheduler is
  // started again. Else they fail and are freed on the nodes, as far as
  // rpc.shutdown_grace allows. Streams and waiting ranks are told; calls end.
  // May be repeated.
  void Stop();

 private:
  struct Parts;
  explicit Scheduler(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// Waits for the context's stop signal, or until the scheduler has halted, and
// stops it in good order. Returns why it has halted, if it has.
absl::Status ServeUntilTheEnd(DaemonContext* context, Scheduler* scheduler);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SCHEDULER_H_
