// Where a peer is dialled from here.
#ifndef SERAPH_COMMON_CLUSTER_NEAREST_ADDRESS_H_
#define SERAPH_COMMON_CLUSTER_NEAREST_ADDRESS_H_

#include <string>

#include "common/cluster/node.h"

namespace seraph {

// Of this process.
struct Neighbourhood {
  std::string host;  // HostId().
  // transport.unix_sockets and .shared_memory.
  bool unix_sockets = true;
  bool shared_memory = true;
};

// The node's local socket, if it is on our machine and answers; else its
// address. Looks once, and does not wait.
std::string NearestAddress(const Node& node, const Neighbourhood& here);

// Whether messages to the node may lie in shared memory: `address` is what
// NearestAddress gave.
bool MayShareMemory(const std::string& address, const Neighbourhood& here);

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_NEAREST_ADDRESS_H_
