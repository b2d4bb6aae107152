#include "scheduler/placement/partition_placer.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

std::vector<Node> Servers(int n) {
  std::vector<Node> servers;
  for (int i = 0; i < n; ++i) {
    Node& node = servers.emplace_back();
    node.name = absl::StrCat("s", i);
    node.incarnation = i + 1;
  }
  return servers;
}

TableSpec Dense(uint64_t keys, uint32_t partitions) {
  TableSpec table;
  table.name = "t";
  table.kind = TableKind::kDense;
  table.keys = keys;
  table.partitions = partitions;
  return table;
}

TableSpec Sparse(uint32_t partitions) {
  TableSpec table;
  table.name = "t";
  table.partitions = partitions;
  return table;
}

std::map<std::string, int> PerServer(
    const std::vector<PartitionPlacement>& placements, int table = -1) {
  std::map<std::string, int> counts;
  for (const PartitionPlacement& placement : placements) {
    if (table >= 0 && placement.table != table) continue;
    ++counts[placement.primary.name];
  }
  return counts;
}

int Spread(const std::map<std::string, int>& counts, int servers) {
  int least = counts.size() < servers ? 0 : counts.begin()->second;
  int most = 0;
  for (const auto& [name, count] : counts) {
    least = std::min(least, count);
    most = std::max(most, count);
  }
  return most - least;
}

TEST(PartitionPlacerTest, SpreadsEvenlyOverAllAndWithinEachTable) {
  for (int servers : {1, 2, 3, 5}) {
    for (size_t first : {0, 1, 7}) {
      const auto placements = PlacePartitions(
          Servers(servers), {Dense(1, 1), Sparse(7), Sparse(64)}, first);
      ASSERT_EQ(placements.size(), 72u);
      EXPECT_LE(Spread(PerServer(placements), servers), 1);
      for (int table : {0, 1, 2}) {
        EXPECT_LE(Spread(PerServer(placements, table), servers), 1);
      }
    }
  }
}

TEST(PartitionPlacerTest, OneKeyTablesDoNotAllGoToTheFirstServer) {
  const auto placements =
      PlacePartitions(Servers(3), {Dense(1, 1), Dense(1, 1), Dense(1, 1)}, 0);
  EXPECT_EQ(PerServer(placements).size(), 3u);
}

TEST(PartitionPlacerTest, CoversEveryKeyOnce) {
  const auto placements =
      PlacePartitions(Servers(2), {Dense(100, 7), Sparse(5)}, 0);
  Key next = 0;
  uint32_t partition = 0;
  uint32_t table = 0;
  for (const PartitionPlacement& placement : placements) {
    if (placement.table != table) {
      EXPECT_EQ(next, 100u);
      table = placement.table;
      next = 0;
      partition = 0;
    }
    EXPECT_EQ(placement.range.first, next);
    EXPECT_EQ(placement.partition, partition++);
    EXPECT_EQ(placement.epoch, 1u);
    next = placement.range.last + 1;
  }
  EXPECT_EQ(next, 0u) << "the last sparse partition ends with the last key";
}

TEST(PartitionPlacerTest, CreatesNoEmptyPartition) {
  const auto placements = PlacePartitions(Servers(4), {Dense(3, 64)}, 0);
  EXPECT_LE(placements.size(), 3u);
}

TEST(PartitionPlacerTest, BeginsWhereItIsTold) {
  const auto placements = PlacePartitions(Servers(3), {Dense(1, 1)}, 4);
  EXPECT_EQ(placements[0].primary.name, "s1");
}

std::map<std::string, int> Held(
    const std::vector<PartitionPlacement>& placements) {
  std::map<std::string, int> counts = PerServer(placements);
  for (const PartitionPlacement& placement : placements) {
    for (const Node& backup : placement.backups) ++counts[backup.name];
  }
  return counts;
}

TEST(PartitionPlacerTest, BackupsAreOnOtherServersAndSpreadEvenly) {
  for (int servers : {2, 3, 5, 7}) {
    for (uint32_t replicas : {2, 3}) {
      for (size_t first : {0, 4}) {
        SCOPED_TRACE(
            absl::StrCat(servers, " servers, ", replicas, " replicas"));
        std::vector<Node> nodes = Servers(servers);
        for (Node& node : nodes) node.host = node.name;
        const auto placements = PlacePartitions(
            nodes, {Dense(1, 1), Sparse(7), Sparse(64)}, first, replicas);
        for (const PartitionPlacement& placement : placements) {
          std::set<std::string> names = {placement.primary.name};
          for (const Node& node : placement.backups) names.insert(node.name);
          EXPECT_EQ(names.size(), std::min<size_t>(servers, replicas));
        }
        EXPECT_LE(Spread(PerServer(placements), servers), 1);
        EXPECT_LE(Spread(Held(placements), servers), 1);
      }
    }
  }
}

TEST(PartitionPlacerTest, BackupsGoToOtherHostsWhereThereAreEnough) {
  std::vector<Node> servers = Servers(5);
  const char* hosts[] = {"x", "x", "x", "y", "z"};
  for (int i = 0; i < 5; ++i) servers[i].host = hosts[i];
  const auto placements = PlacePartitions(servers, {Sparse(40)}, 0, 3);
  for (const PartitionPlacement& placement : placements) {
    std::set<std::string> seen = {placement.primary.host};
    for (const Node& node : placement.backups) seen.insert(node.host);
    EXPECT_EQ(seen.size(), 3u);
  }
}

TEST(PartitionPlacerTest, OneHostHoldsTwoReplicasIfThereIsNoOther) {
  std::vector<Node> servers = Servers(2);
  for (Node& node : servers) node.host = "x";
  const auto placements = PlacePartitions(servers, {Sparse(4)}, 0, 3);
  for (const PartitionPlacement& placement : placements) {
    EXPECT_EQ(placement.backups.size(), 1u);
  }
}

TEST(PartitionPlacerTest, TheBackupsOfOneServerAreOnManyOthers) {
  std::vector<Node> servers = Servers(4);
  for (Node& node : servers) node.host = node.name;
  std::map<std::string, std::map<std::string, int>> backups;
  for (const auto& placement : PlacePartitions(servers, {Sparse(36)}, 0, 2)) {
    ++backups[placement.primary.name][placement.backups[0].name];
  }
  for (const auto& [name, counts] : backups) {
    EXPECT_EQ(counts.size(), 3u) << name;
  }
}

}  // namespace
}  // namespace seraph
