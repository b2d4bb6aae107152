#include "scheduler/placement/partition_placer.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "common/table/partitioning.h"

namespace seraph {
namespace {

// Gives each partition its backups: server by server to where least lies.
class BackupChoice {
 public:
  // `primaries`: by partition.
  BackupChoice(absl::Span<const Node> servers,
               absl::Span<const size_t> primaries)
      : servers_(servers),
        held_(servers.size()),
        backs_(servers.size() * servers.size()) {
    for (const size_t primary : primaries) ++held_[primary];
  }

  std::vector<size_t> Choose(size_t primary, uint32_t replicas) {
    std::vector<size_t> chosen = {primary};
    while (chosen.size() < replicas && chosen.size() < servers_.size()) {
      const size_t next = Next(chosen);
      ++held_[next];
      ++backs_[primary * servers_.size() + next];
      chosen.push_back(next);
    }
    return chosen;
  }

 private:
  size_t Next(const std::vector<size_t>& chosen) const {
    const size_t primary = chosen.front();
    const size_t n = servers_.size();
    const auto rank = [&](size_t server) {
      const auto neighbours =
          std::count_if(chosen.begin(), chosen.end(), [&](size_t other) {
            return servers_[other].host == servers_[server].host;
          });
      // If the primary dies, many others share what it did.
      return std::make_tuple(neighbours, held_[server],
                             backs_[primary * n + server],
                             (server + n - primary) % n);
    };
    std::optional<size_t> best;
    for (size_t server = 0; server < n; ++server) {
      if (std::find(chosen.begin(), chosen.end(), server) != chosen.end()) {
        continue;
      }
      if (!best.has_value() || rank(server) < rank(*best)) best = server;
    }
    return *best;
  }

  const absl::Span<const Node> servers_;
  std::vector<size_t> held_;   // Replicas, by server.
  std::vector<size_t> backs_;  // By primary and backup.
};

}  // namespace

std::vector<PartitionPlacement> PlacePartitions(
    absl::Span<const Node> servers, absl::Span<const TableSpec> tables,
    size_t first, uint32_t replicas) {
  std::vector<PartitionPlacement> placements;
  std::vector<size_t> primaries;
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
      primaries.push_back(next);
      next = (next + 1) % servers.size();
    }
  }
  if (replicas <= 1) return placements;
  BackupChoice choice(servers, primaries);
  for (size_t i = 0; i < placements.size(); ++i) {
    const std::vector<size_t> chosen = choice.Choose(primaries[i], replicas);
    for (size_t b = 1; b < chosen.size(); ++b) {
      placements[i].backups.push_back(servers[chosen[b]]);
    }
  }
  return placements;
}

}  // namespace seraph
