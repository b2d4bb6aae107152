// Where a peer is dialled from here.
#ifndef SERAPH_COMMON_CLUSTER_NEAREST_ADDRESS_H_
#define SERAPH_COMMON_CLUSTER_NEAREST_ADDRESS_H_

#include <string>

#include "common/cluster/node.h"

namespace seraph {

// Of this process.
struct Neighbourhood {
  std::string host;          // HostId().
  bool unix_sockets = true;  // transport.unix_sockets.
};

// The node's local socket, if it is on our machine and answers; else its
// address. Looks once, and does not wait.
std::string NearestAddress(const Node& node, const Neighbourhood& here);

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_NEAREST_ADDRESS_H_
