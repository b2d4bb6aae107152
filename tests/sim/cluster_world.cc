#include "tests/sim/cluster_world.h"

#include "tests/sim/sim_scheduler.h"

namespace seraph::testing {

SimScheduler* ClusterWorld::Leader() const {
  SimScheduler* leader = nullptr;
  for (const auto& [machine, scheduler] : schedulers) {
    if (!scheduler->works()) continue;
    if (leader == nullptr || scheduler->term() > leader->term()) {
      leader = scheduler;
    }
  }
  return leader;
}

SimScheduler* ClusterWorld::Working(int machine) const {
  SimScheduler* scheduler = SchedulerAt(machine);
  return scheduler != nullptr && scheduler->works() ? scheduler : nullptr;
}

}  // namespace seraph::testing
