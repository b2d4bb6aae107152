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
  SimScheduler* scheduler = nullptr;
  int scheduler_machine = 0;
  std::map<std::string, int> machine_of;  // By a node's name.
  std::set<uint64_t> called_dead;         // Incarnations.
  // Lives of machines that were asked to drain, by machine.
  std::map<int, uint64_t> draining;

  SimServer* ServerAt(int machine) const {
    const auto it = servers.find(machine);
    return it == servers.end() ? nullptr : it->second;
  }
  SimWorker* WorkerAt(int machine) const {
    const auto it = workers.find(machine);
    return it == workers.end() ? nullptr : it->second;
  }
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_CLUSTER_WORLD_H_
