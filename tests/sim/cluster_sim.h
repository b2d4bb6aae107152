// Whole clusters in one thread: a scheduler, servers and workers that run a job
// under everything that can go wrong.
#ifndef SERAPH_TESTS_SIM_CLUSTER_SIM_H_
#define SERAPH_TESTS_SIM_CLUSTER_SIM_H_

#include <cstdint>

#include "tests/sim/sim_outcome.h"

namespace seraph::testing {

// The seed decides the job, the cluster, the network and the faults. Checked:
// the witnesses (witness.h) of ssp, asp and half of the bsp jobs; the digest
// and the metrics of the others against an undisturbed run; that replicas at
// one position hold the same bytes; that the job ends when the faults do.
SimOutcome RunClusterSim(uint64_t seed, bool record);

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_CLUSTER_SIM_H_
