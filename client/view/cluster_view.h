// A cluster as the scheduler describes it: DescribeClusterReply of
// proto/cluster.proto.
#ifndef SERAPH_CLIENT_VIEW_CLUSTER_VIEW_H_
#define SERAPH_CLIENT_VIEW_CLUSTER_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace seraph {

struct NodeView {
  std::string name;
  std::string role;     // "server", "worker".
  std::string state;    // "ALIVE", "DRAINING", "DEAD", "LEFT".
  std::string address;  // host:port.
  std::string version;
  absl::Duration since_heartbeat;
  uint64_t memory_bytes = 0;  // Resident.
  uint32_t partitions = 0;
  uint64_t rows = 0;
  uint32_t ranks = 0;      // Running.
  uint32_t primaries = 0;  // Partitions, as the scheduler has them.
  uint32_t backups = 0;
};

struct ClusterView {
  std::string name;
  std::string version;  // Of the scheduler.
  std::vector<NodeView> nodes;
  uint32_t running_jobs = 0;
  uint32_t pending_jobs = 0;
  // With fewer replicas in sync than wanted.
  uint32_t degraded_partitions = 0;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_VIEW_CLUSTER_VIEW_H_
