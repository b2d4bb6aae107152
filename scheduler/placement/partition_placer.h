// Which server holds which partition.
#ifndef SERAPH_SCHEDULER_PLACEMENT_PARTITION_PLACER_H_
#define SERAPH_SCHEDULER_PLACEMENT_PARTITION_PLACER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/cluster/node.h"
#include "common/cluster/partition_placement.h"
#include "common/table/table_spec.h"

namespace seraph {

// Deals the partitions of all tables, in order, to the servers in turn,
// beginning with server `first` (modulo their number): two servers differ by
// one partition at most, over all tables together and within each. All are of
// epoch 1.
//
// Each gets replicas - 1 backups, or as many as there are other servers: on
// other hosts than its own where there are enough, else where least lies; the
// backups of a server's partitions are spread over the others. A pure function.
//
// Requires: servers is not empty; every table is valid.
std::vector<PartitionPlacement> PlacePartitions(
    absl::Span<const Node> servers, absl::Span<const TableSpec> tables,
    size_t first, uint32_t replicas = 1);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_PLACEMENT_PARTITION_PLACER_H_
