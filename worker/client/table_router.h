// Which server has which keys of a job.
#ifndef SERAPH_WORKER_CLIENT_TABLE_ROUTER_H_
#define SERAPH_WORKER_CLIENT_TABLE_ROUTER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/cluster/node.h"
#include "common/cluster/partition_placement.h"
#include "common/table/partitioning.h"
#include "common/table/table_spec.h"
#include "worker/client/key_orders.h"

namespace seraph {

// The keys of one table in the order of the wire.
struct RoutedTable {
  // [n] mixed keys, ascending. A view of the caller's keys where the table is
  // not scrambled.
  absl::Span<const Key> keys;
  // [n] where keys[i] stands among the caller's keys; empty: at i.
  absl::Span<const uint32_t> origin;

  std::shared_ptr<const KeyOrder> order;  // Has both, of a scrambled table.
};

// The keys of one partition: [first, first + count) of its RoutedTable.
struct RoutedPart {
  uint32_t placement = 0;  // Index into placements().
  size_t first = 0;
  size_t count = 0;
};

struct Route {
  std::vector<RoutedTable> tables;
  // By server: its parts, ascending by table and partition.
  std::vector<std::vector<RoutedPart>> servers;
  // Those of partitions that have no primary at the moment.
  std::vector<RoutedPart> homeless;
};

// A job's tables, partitions and servers as they are at one moment; pure and
// immutable, so that any number of threads may use it. A change of placements
// is another router, of a higher version.
class TableRouter {
 public:
  static constexpr size_t kNoServer = std::numeric_limits<size_t>::max();

  // Errors: InvalidArgument unless the placements are exactly the partitions
  // of the tables.
  static absl::StatusOr<TableRouter> Make(
      std::vector<TableSpec> tables, std::vector<PartitionPlacement> placements,
      uint64_t version = 0);

  uint64_t version() const { return version_; }
  const std::vector<TableSpec>& tables() const { return tables_; }
  // Ascending by table and partition.
  const std::vector<PartitionPlacement>& placements() const {
    return placements_;
  }
  // The primaries, each once.
  const std::vector<Node>& servers() const { return servers_; }
  // Index into servers() by that into placements(); kNoServer while a new
  // primary is being chosen.
  size_t ServerOf(size_t placement) const { return server_of_[placement]; }
  // Index into placements(). Requires: the table has the partition.
  size_t PlacementOf(uint32_t table, uint32_t partition) const {
    return first_placement_[table] + partition;
  }

  // Splits the keys of each table (original, strictly increasing), by binary
  // search at the partitions' borders. Partitions without keys have a part
  // (of count 0) if `all_partitions`, else none. `orders` may know the keys.
  //
  // Errors: OutOfRange for a key that its table cannot have.
  absl::StatusOr<Route> Split(
      absl::Span<const absl::Span<const Key>> keys_by_table,
      bool all_partitions, KeyOrders* orders) const;

 private:
  TableRouter() = default;

  uint64_t version_ = 0;
  std::vector<TableSpec> tables_;
  std::vector<Partitioning> cuts_;  // By table.
  std::vector<PartitionPlacement> placements_;
  std::vector<size_t> first_placement_;  // By table.
  std::vector<size_t> server_of_;        // By placement.
  std::vector<Node> servers_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_TABLE_ROUTER_H_
