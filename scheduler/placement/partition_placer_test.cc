#include "scheduler/placement/partition_placer.h"

#include <algorithm>
#include <map>
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

}  // namespace
}  // namespace seraph
