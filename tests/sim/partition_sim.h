// One partition on a few servers, with everything that can go wrong.
#ifndef SERAPH_TESTS_SIM_PARTITION_SIM_H_
#define SERAPH_TESTS_SIM_PARTITION_SIM_H_

#include <cstdint>

#include "tests/sim/sim_outcome.h"

namespace seraph::testing {

// A scheduler that stores its records (real: PartitionMap, NodeRegistry), three
// or four servers (real: Partition), and ranks that push witnesses and pull
// them. Servers and the scheduler crash, are stopped and cut off; ranks are
// handed out anew while their old lives go on. When the last replica is lost
// the job goes back to its start in a new generation.
SimOutcome RunPartitionSim(uint64_t seed, bool record);

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_PARTITION_SIM_H_
