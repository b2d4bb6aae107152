#include "worker/client/table_router.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace seraph {
absl::StatusOr<TableRouter> TableRouter::Make(
    std::vector<TableSpec> tables, std::vector<PartitionPlacement> placements,
    uint64_t version) {
  TableRouter router;
  router.version_ = version;
  std::sort(placements.begin(), placements.end(),
            [](const PartitionPlacement& a, const PartitionPlacement& b) {
              return std::pair(a.table, a.partition) <
                     std::pair(b.table, b.partition);
            });
  size_t next = 0;
  for (uint32_t t = 0; t < tables.size(); ++t) {
    const Partitioning cut(tables[t]);
    router.first_placement_.push_back(next);
    for (uint32_t p = 0; p < cut.partitions(); ++p, ++next) {
      if (next >= placements.size() || placements[next].table != t ||
          placements[next].partition != p ||
          placements[next].range != cut.PartitionRange(p)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the map does not say where partition ", p,
                         " of table '", tables[t].name, "' is"));
      }
    }
    router.cuts_.push_back(cut);
  }
  if (next != placements.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the map names ", placements.size(),
                     " partitions where the job has ", next));
  }
  for (const PartitionPlacement& placement : placements) {
    if (placement.primary.name.empty()) {
      router.server_of_.push_back(kNoServer);
      continue;
    }
    const auto same = [&](const Node& node) {
      return node.name == placement.primary.name &&
             node.incarnation == placement.primary.incarnation;
    };
    auto found =
        std::find_if(router.servers_.begin(), router.servers_.end(), same);
    if (found == router.servers_.end()) {
      found = router.servers_.insert(found, placement.primary);
    }
    router.server_of_.push_back(found - router.servers_.begin());
  }
  router.tables_ = std::move(tables);
  router.placements_ = std::move(placements);
  return router;
}

absl::StatusOr<Route> TableRouter::Split(
    absl::Span<const absl::Span<const Key>> keys_by_table, bool all_partitions,
    KeyOrders* orders) const {
  Route route;
  route.tables.resize(tables_.size());
  route.servers.resize(servers_.size());
  for (size_t t = 0; t < tables_.size(); ++t) {
    RoutedTable& routed = route.tables[t];
    if (tables_[t].scramble) {
      routed.order = orders->Of(t, tables_[t], keys_by_table[t]);
      routed.keys = routed.order->mixed;
      routed.origin = routed.order->origin;
    } else {
      routed.keys = keys_by_table[t];
    }
    if (!routed.keys.empty() && !cuts_[t].Contains(routed.keys.back())) {
      return absl::OutOfRangeError(
          absl::StrCat("key ", routed.keys.back(), " is beyond table '",
                       tables_[t].name, "', which has ", tables_[t].keys));
    }
    size_t first = 0;
    for (uint32_t p = 0; p < cuts_[t].partitions(); ++p) {
      if (!all_partitions && first == routed.keys.size()) break;
      const size_t placement = first_placement_[t] + p;
      const size_t end =
          std::upper_bound(routed.keys.begin() + first, routed.keys.end(),
                           placements_[placement].range.last) -
          routed.keys.begin();
      if (end > first || all_partitions) {
        const size_t server = server_of_[placement];
        (server == kNoServer ? route.homeless : route.servers[server])
            .push_back({static_cast<uint32_t>(placement), first, end - first});
      }
      first = end;
    }
  }
  return route;
}

}  // namespace seraph
