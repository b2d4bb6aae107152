#include "common/table/partitioning.h"

#include <algorithm>
#include <vector>

#include "common/base/draw.h"
#include "common/base/scramble.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TableSpec Dense(uint64_t keys, uint32_t partitions) {
  return {.name = "t",
          .kind = TableKind::kDense,
          .keys = keys,
          .partitions = partitions};
}

TableSpec Sparse(uint32_t partitions) {
  return {.name = "t", .kind = TableKind::kSparse, .partitions = partitions};
}

TEST(PartitioningTest, BlocksAreFixedPiecesOfAtMost4096) {
  const struct {
    uint64_t keys;
    uint32_t blocks;
    uint64_t block_keys;
  } cases[] = {
      {1, 1, 1},
      {2, 2, 1},
      {123, 123, 1},
      {4096, 4096, 1},
      {4097, 2049, 2},
      {8192, 4096, 2},
      {8193, 2049, 4},
      {1000000, 3907, 256},
      {kMaxKey, 4096, Key{1} << 52},
  };
  for (const auto& c : cases) {
    const Partitioning cut(Dense(c.keys, 7));
    EXPECT_EQ(cut.blocks(), c.blocks) << c.keys;
    EXPECT_EQ(cut.BlockRange(0).last, c.block_keys - 1) << c.keys;
    EXPECT_EQ(cut.BlockRange(c.blocks - 1).last, c.keys - 1) << c.keys;
  }
  const Partitioning sparse(Sparse(7));
  EXPECT_EQ(sparse.blocks(), 4096u);
  EXPECT_EQ(sparse.BlockRange(1), (KeyRange{Key{1} << 52, (Key{2} << 52) - 1}));
  EXPECT_EQ(sparse.BlockRange(4095).last, kMaxKey);
}

TEST(PartitioningTest, PartitionsCoverTheTableInWholeBlocksWithoutGaps) {
  std::vector<TableSpec> tables;
  for (uint32_t partitions : {1, 2, 3, 7, 64, 1000, 4096, 1000000}) {
    tables.push_back(Sparse(partitions));
    for (uint64_t keys :
         {uint64_t{1}, uint64_t{2}, uint64_t{123}, uint64_t{5000},
          uint64_t{1000000}, (uint64_t{1} << 40) + 1, kMaxKey}) {
      tables.push_back(Dense(keys, partitions));
    }
  }
  for (const TableSpec& table : tables) {
    const Partitioning cut(table);
    ASSERT_GE(cut.partitions(), 1u);
    ASSERT_EQ(cut.partitions(), std::min(table.partitions, cut.blocks()));
    Key next = 0;
    for (uint32_t i = 0; i < cut.partitions(); ++i) {
      const KeyRange range = cut.PartitionRange(i);
      ASSERT_EQ(range.first, next);
      ASSERT_LE(range.first, range.last) << "an empty partition";
      ASSERT_EQ(cut.BlockRange(cut.BlockOf(range.first)).first, range.first);
      ASSERT_EQ(cut.BlockRange(cut.BlockOf(range.last)).last, range.last);
      ASSERT_EQ(cut.PartitionOf(range.first), i);
      ASSERT_EQ(cut.PartitionOf(range.last), i);
      next = range.last + 1;
    }
    EXPECT_EQ(next, table.kind == TableKind::kSparse ? 0 : table.keys);
  }
}

TEST(PartitioningTest, BlocksDoNotDependOnPartitions) {
  const Partitioning one(Dense(1000000, 1)), many(Dense(1000000, 64));
  EXPECT_EQ(one.blocks(), many.blocks());
  for (uint32_t block : {0, 1, 77, 3906}) {
    EXPECT_EQ(one.BlockRange(block), many.BlockRange(block));
  }
}

TEST(PartitioningTest, KnowsTheTablesKeys) {
  EXPECT_TRUE(Partitioning(Dense(10, 1)).Contains(9));
  EXPECT_FALSE(Partitioning(Dense(10, 1)).Contains(10));
  EXPECT_TRUE(Partitioning(Sparse(1)).Contains(kMaxKey));
}

TEST(PartitioningTest, MixedKeysAreScrambledOnlyWhereTheTableSaysSo) {
  TableSpec table = Sparse(64);
  EXPECT_EQ(ToMixedKey(table, 5), 5u);
  EXPECT_EQ(ToOriginalKey(table, 5), 5u);
  table.scramble = true;
  EXPECT_EQ(ToMixedKey(table, 5), Scramble(5));
  for (uint64_t i = 0; i < 100; ++i) {
    const Key key = Draw(1, {i});
    EXPECT_EQ(ToOriginalKey(table, ToMixedKey(table, key)), key);
  }
}

// Rows lie by this on servers and in files.
TEST(PartitioningTest, NeverChanges) {
  EXPECT_EQ(Partitioning(Dense(1000000, 7)).PartitionRange(3),
            (KeyRange{1674 * 256, 2232 * 256 - 1}));
  EXPECT_EQ(Partitioning(Sparse(7)).PartitionRange(6),
            (KeyRange{Key{3510} << 52, kMaxKey}));
}

}  // namespace
}  // namespace seraph
