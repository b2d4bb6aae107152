// What a daemon says of itself when it registers.
#ifndef SERAPH_COMMON_CLUSTER_NODE_IDENTITY_H_
#define SERAPH_COMMON_CLUSTER_NODE_IDENTITY_H_

#include <cstdint>
#include <string>

namespace seraph {

// Random, never 0: each start of a daemon is a new incarnation.
uint64_t NewIncarnation();

// Names what decides the bits of floating-point results: architecture and
// build baseline, compiler, C library, the CPU features by which the C
// library chooses its exp and log, and our version. Ranks of a bsp job run only
// where it is the same.
//   "x86_64-v3 gcc-12.2.0 glibc-2.36 fma seraph-0.1.0"
std::string ArithmeticId();

// Names this machine: a hash of its id, or its host name where there is none.
// The same for all processes of a machine.
std::string HostId(const std::string& machine_id_file = "/etc/machine-id");

// Resident memory of this process in bytes, as the kernel counts it; 0 if it
// does not say.
uint64_t ResidentBytes();

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_NODE_IDENTITY_H_
