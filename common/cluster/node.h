// A daemon as its peers know it.
#ifndef SERAPH_COMMON_CLUSTER_NODE_H_
#define SERAPH_COMMON_CLUSTER_NODE_H_

#include <cstdint>
#include <string>

namespace seraph {

enum class NodeRole { kServer, kWorker };

// Plain data; proto/types.proto has the same fields.
struct Node {
  std::string name;  // Unique in the cluster; by default host:port.
  NodeRole role = NodeRole::kServer;
  std::string address;       // host:port that peers dial.
  uint64_t incarnation = 0;  // Random at each start, never 0. A new one at a
                             // name is the death of the old one.
  std::string host;          // Which machine.
  std::string arithmetic;    // Build, architecture and libm.
  std::string version;
  uint32_t slots = 0;  // Worker: ranks that it runs side by side, over all
                       // jobs. 0: no limit.

  friend bool operator==(const Node&, const Node&) = default;
};

// What a node says of itself with each heartbeat.
struct NodeLoad {
  uint64_t memory_bytes = 0;  // Resident.
  uint32_t partitions = 0;
  uint64_t rows = 0;
  uint32_t ranks = 0;

  friend bool operator==(const NodeLoad&, const NodeLoad&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_NODE_H_
