// What the machines of a simulated cluster share.
#ifndef SERAPH_TESTS_SIM_CLUSTER_WORLD_H_
#define SERAPH_TESTS_SIM_CLUSTER_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/sim/cluster_checks.h"
#include "tests/sim/cluster_job.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/witness.h"

namespace seraph::testing {

class SimDisk;
class SimServer;
class SimWorker;
class SimScheduler;

// Times are a tenth, or less, of those of a real cluster, so that a run is
// short; only their relations matter.
struct ClusterWorld {
  SimLoop* loop = nullptr;
  SimNetwork* network = nullptr;
  const ClusterJob* job = nullptr;
  WitnessChecker* checker = nullptr;
  ClusterChecks* checks = nullptr;
  SimDisk* disk = nullptr;
  std::map<std::string, int64_t> counts;

  absl::Duration heartbeat = absl::Milliseconds(50);
  absl::Duration timeout = absl::Milliseconds(300);  // Of heartbeats.
  absl::Duration lease = absl::Milliseconds(200);
  absl::Duration call_timeout = absl::Milliseconds(250);
  absl::Duration think;  // Of a rank, at most, for a batch.
  size_t max_message_bytes = 1 << 20;
  uint64_t window_bytes = 1 << 20;    // Of a worker's pushes to a server.
  uint64_t inflight_bytes = 1 << 30;  // Of requests that a server takes in.
  // Between replicas: as on a stream, or in any order and repeatedly.
  bool streams = true;

  bool is_fair = false;  // Nothing breaks, gets lost or takes long.

  // How often a rank's request has a stray copy under a wrong name.
  double stray = 0;

  // After a record was forwarded: a good moment for the machine to die.
  std::function<void(int machine)> dies;

  // Who lives on a machine now; null: nobody.
  std::map<int, SimServer*> servers;
  std::map<int, SimWorker*> workers;
  std::map<int, SimScheduler*> schedulers;
  std::vector<int> scheduler_machines;
  std::map<std::string, int> machine_of;  // By a node's name.
  // Where a machine believes that the scheduler is that leads: an index.
  std::map<int, size_t> believes;
  std::set<uint64_t> called_dead;  // Incarnations.
  // Lives of machines that were asked to drain, by machine.
  std::map<int, uint64_t> draining;

  SimScheduler* SchedulerAt(int machine) const {
    const auto it = schedulers.find(machine);
    return it == schedulers.end() ? nullptr : it->second;
  }
  // The one that leads, seen from outside; null: none.
  SimScheduler* Leader() const;
  // A call of the scheduler: of the one that `from` believes to lead; of
  // another one the next time, where that does not answer, or says that it does
  // not lead.
  template <typename Reply, typename Serve>
  void CallScheduler(int from, const char* what, absl::Duration timeout,
                     Serve serve, SimNetwork::Answer<Reply> done) {
    const size_t believed = believes[from];
    const int to = scheduler_machines[believed];
    network->Call<Reply>(
        from, to, what, timeout,
        [this, to, serve](SimNetwork::Answer<Reply> answer) {
          SimScheduler* scheduler = Working(to);
          if (scheduler != nullptr) return serve(scheduler, answer);
          if (SchedulerAt(to) == nullptr) return;
          answer(absl::UnavailableError("another scheduler leads"));
        },
        [this, from, believed, done](absl::StatusOr<Reply> reply) {
          if ((absl::IsUnavailable(reply.status()) ||
               absl::IsDeadlineExceeded(reply.status())) &&
              believes[from] == believed) {
            believes[from] = (believed + 1) % scheduler_machines.size();
          }
          done(std::move(reply));
        });
  }

  SimServer* ServerAt(int machine) const {
    const auto it = servers.find(machine);
    return it == servers.end() ? nullptr : it->second;
  }
  SimWorker* WorkerAt(int machine) const {
    const auto it = workers.find(machine);
    return it == workers.end() ? nullptr : it->second;
  }

 private:
  // Null: it does not lead.
  SimScheduler* Working(int machine) const;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_CLUSTER_WORLD_H_
