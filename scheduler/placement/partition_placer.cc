#include "scheduler/placement/partition_placer.h"

#include "common/table/partitioning.h"

namespace seraph {

std::vector<PartitionPlacement> PlacePartitions(
    absl::Span<const Node> servers, absl::Span<const TableSpec> tables,
    size_t first) {
  std::vector<PartitionPlacement> placements;
  size_t next = first % servers.size();
  for (size_t table = 0; table < tables.size(); ++table) {
    const Partitioning partitioning(tables[table]);
    for (uint32_t p = 0; p < partitioning.partitions(); ++p) {
      PartitionPlacement& placement = placements.emplace_back();
      placement.table = table;
      placement.partition = p;
      placement.range = partitioning.PartitionRange(p);
      placement.epoch = 1;
      placement.primary = servers[next];
      next = (next + 1) % servers.size();
    }
  }
  return placements;
}

}  // namespace seraph
