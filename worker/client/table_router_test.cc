#include "worker/client/table_router.h"

#include <numeric>

#include "common/base/scramble.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A dense table of 100 keys and a scrambled sparse one, 4 partitions each, on
// servers "a" and "b" in turn.
std::vector<TableSpec> Tables() {
  TableSpec dense{
      .name = "dense", .kind = TableKind::kDense, .keys = 100, .partitions = 4};
  TableSpec sparse{.name = "sparse", .scramble = true, .partitions = 4};
  return {dense, sparse};
}

std::vector<PartitionPlacement> Placements(
    const std::vector<TableSpec>& tables) {
  std::vector<PartitionPlacement> all;
  for (uint32_t t = 0; t < tables.size(); ++t) {
    const Partitioning cut(tables[t]);
    for (uint32_t p = 0; p < cut.partitions(); ++p) {
      PartitionPlacement one{.table = t,
                             .partition = p,
                             .range = cut.PartitionRange(p),
                             .epoch = 1};
      one.primary.name.assign(1, p % 2 == 0 ? 'a' : 'b');
      all.push_back(one);
    }
  }
  return all;
}

TEST(TableRouterTest, EveryKeyGoesToItsPartitionOnceAndInOrder) {
  const auto router = TableRouter::Make(Tables(), Placements(Tables()));
  ASSERT_THAT(router, IsOk());
  ASSERT_EQ(router->servers().size(), 2);
  std::vector<Key> dense(100), sparse;
  std::iota(dense.begin(), dense.end(), 0);
  for (Key key = 0; key < 300; ++key) sparse.push_back(key * 7);
  KeyOrders orders;
  const auto route = router->Split({dense, sparse}, false, &orders);
  ASSERT_THAT(route, IsOk());

  std::vector<int> seen_dense(100), seen_sparse(300);
  for (size_t server = 0; server < 2; ++server) {
    for (const RoutedPart& part : route->servers[server]) {
      const auto& placement = router->placements()[part.placement];
      EXPECT_EQ(placement.primary.name, router->servers()[server].name);
      const RoutedTable& table = route->tables[placement.table];
      for (size_t i = part.first; i < part.first + part.count; ++i) {
        EXPECT_TRUE(placement.range.Contains(table.keys[i]));
        if (i > part.first) {
          EXPECT_LT(table.keys[i - 1], table.keys[i]);
        }
        if (placement.table == 0) {
          ++seen_dense[table.keys[i]];
        } else {
          const uint32_t origin = table.origin[i];
          EXPECT_EQ(table.keys[i], Scramble(sparse[origin]));
          ++seen_sparse[origin];
        }
      }
    }
  }
  EXPECT_THAT(seen_dense, ::testing::Each(1));
  EXPECT_THAT(seen_sparse, ::testing::Each(1));
}

TEST(TableRouterTest, AnEntryHasAPartForEveryPartitionAPullOnlyWhereItHasKeys) {
  const auto router = TableRouter::Make(Tables(), Placements(Tables()));
  ASSERT_THAT(router, IsOk());
  const std::vector<Key> one = {99};
  KeyOrders orders;
  const auto pull = router->Split({one, {}}, false, &orders);
  ASSERT_THAT(pull, IsOk());
  EXPECT_EQ(pull->servers[0].size() + pull->servers[1].size(), 1);
  const auto entry = router->Split({one, {}}, true, &orders);
  ASSERT_THAT(entry, IsOk());
  EXPECT_EQ(entry->servers[0].size(), 4);
  EXPECT_EQ(entry->servers[1].size(), 4);
}

TEST(TableRouterTest, TheGreatestKeyHasAPlace) {
  std::vector<TableSpec> tables = {{.name = "all", .partitions = 7}};
  const auto router = TableRouter::Make(tables, Placements(tables));
  ASSERT_THAT(router, IsOk());
  const std::vector<Key> edges = {0, kMaxKey};
  KeyOrders orders;
  const auto route = router->Split({edges}, false, &orders);
  ASSERT_THAT(route, IsOk());
  size_t keys = 0;
  for (const auto& server : route->servers) {
    for (const RoutedPart& part : server) keys += part.count;
  }
  EXPECT_EQ(keys, 2);
}

TEST(TableRouterTest, AKeyBeyondADenseTableIsNamed) {
  const auto router = TableRouter::Make(Tables(), Placements(Tables()));
  ASSERT_THAT(router, IsOk());
  const std::vector<Key> beyond = {1, 100};
  KeyOrders orders;
  EXPECT_THAT(router->Split({beyond, {}}, false, &orders).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("100")));
}

TEST(TableRouterTest, AMapThatIsNotWholeIsRefused) {
  std::vector<PartitionPlacement> missing = Placements(Tables());
  missing.erase(missing.begin() + 2);
  EXPECT_THAT(TableRouter::Make(Tables(), missing).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  std::vector<PartitionPlacement> twice = Placements(Tables());
  twice.push_back(twice.back());
  EXPECT_THAT(TableRouter::Make(Tables(), twice).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  std::vector<PartitionPlacement> shifted = Placements(Tables());
  ++shifted[0].range.last;
  EXPECT_THAT(TableRouter::Make(Tables(), shifted).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace seraph
