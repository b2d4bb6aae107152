// Where a partition of a job's table is served.
#ifndef SERAPH_COMMON_CLUSTER_PARTITION_PLACEMENT_H_
#define SERAPH_COMMON_CLUSTER_PARTITION_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "common/base/key.h"
#include "common/cluster/node.h"

namespace seraph {

// Plain data; proto/types.proto has the same fields.
struct PartitionPlacement {
  uint32_t table = 0;         // Index into the job's tables.
  uint32_t partition = 0;     // Index in the table.
  KeyRange range;             // Of mixed keys.
  uint64_t epoch = 0;         // From 1; raised at each change of replicas.
  Node primary;               // Without a name while a new one is being chosen.
  std::vector<Node> backups;  // In sync, without the primary.

  friend bool operator==(const PartitionPlacement&,
                         const PartitionPlacement&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_PARTITION_PLACEMENT_H_
