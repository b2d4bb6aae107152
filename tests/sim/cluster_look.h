// Looks at all of a simulated cluster, from outside of time.
#ifndef SERAPH_TESTS_SIM_CLUSTER_LOOK_H_
#define SERAPH_TESTS_SIM_CLUSTER_LOOK_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "scheduler/job/job_view.h"
#include "tests/sim/cluster_world.h"

namespace seraph::testing {

// Replicas at one position hold the same bytes, whenever they were there, and
// none is set back within an epoch.
class ReplicaComparison {
 public:
  explicit ReplicaComparison(ClusterWorld* world) : world_(*world) {}

  void Look();

 private:
  struct Stood {
    uint64_t epoch = 0;
    LogPosition last;
  };

  ClusterWorld& world_;
  // By generation, table, partition, epoch and number of the position.
  std::map<std::tuple<uint64_t, uint32_t, uint32_t, uint64_t, uint64_t>,
           uint64_t>
      content_;
  // By incarnation, generation, table, partition.
  std::map<std::tuple<uint64_t, uint64_t, uint32_t, uint32_t>, Stood> stood_;
};

// The job as the scheduler shows it; null: none, or the scheduler is away.
const JobView* ViewOf(const ClusterWorld& world);

// Where everything stands, in words.
std::string StandingOf(const ClusterWorld& world);

// What nodes still have of a job that has ended; "" if nothing.
std::string LeftOvers(const ClusterWorld& world);

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_CLUSTER_LOOK_H_
