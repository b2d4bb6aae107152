#include "common/dataset/rank_plan.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<DatasetBlock> Blocks(const std::vector<uint64_t>& records) {
  std::vector<DatasetBlock> blocks;
  for (size_t i = 0; i < records.size(); ++i) {
    blocks.push_back({0, i * 100, i * 100 + 100, records[i], 1, 0});
  }
  return blocks;
}

TEST(RankShareTest, CoversAllAndDiffersByOneAtMost) {
  for (uint64_t records : {uint64_t{0}, uint64_t{1}, uint64_t{10},
                           uint64_t{1000003}, ~uint64_t{0}}) {
    for (uint32_t ranks : {1u, 3u, 7u, 64u}) {
      uint64_t end = 0;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const RecordRange share = RankShare(records, ranks, rank);
        EXPECT_EQ(share.first, end);
        ASSERT_GE(share.size(), records / ranks);
        EXPECT_LE(share.size() - records / ranks, 1);
        end = share.end;
      }
      EXPECT_EQ(end, records);
    }
  }
}

TEST(StepsPerEpochTest, IsThatOfTheLongestShare) {
  EXPECT_EQ(StepsPerEpoch(10, 3, 2), 2);  // Shares of 3, 3 and 4.
  EXPECT_EQ(StepsPerEpoch(10, 3, 4), 1);
  EXPECT_EQ(StepsPerEpoch(10, 3, 3), 2);
  EXPECT_EQ(StepsPerEpoch(2, 3, 5), 1);
  EXPECT_EQ(StepsPerEpoch(0, 3, 5), 0);
}

TEST(PlanTest, CutsBlocksWhereSharesEnd) {
  const auto blocks = Blocks({3, 0, 5, 2});
  EXPECT_THAT(PlanInOrder(blocks, RecordPart::kTrain, 2, 0),
              ElementsAre(Slice{0, 0, 3}, Slice{2, 0, 2}));
  EXPECT_THAT(PlanInOrder(blocks, RecordPart::kTrain, 2, 1),
              ElementsAre(Slice{2, 2, 3}, Slice{3, 0, 2}));
  EXPECT_THAT(PlanInOrder(blocks, RecordPart::kValidation, 4, 1),
              ElementsAre(Slice{1, 0, 1}));
  EXPECT_THAT(PlanInOrder({}, RecordPart::kTrain, 2, 1), IsEmpty());
}

TEST(PlanTest, EveryRecordOnceForAnyBlocksAndRanks) {
  const uint32_t test_seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << test_seed);
  std::mt19937 random(test_seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> records(random() % 20);
    for (uint64_t& count : records) count = random() % 8;
    const auto blocks = Blocks(records);
    const uint32_t ranks = 1 + random() % 9;
    const uint64_t seed = random();
    const uint32_t epoch = random() % 3;
    std::vector<std::pair<size_t, uint64_t>> read, want;
    std::vector<uint64_t> sizes;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      uint64_t size = 0;
      for (const Slice& slice :
           PlanShuffled(blocks, seed, epoch, ranks, rank)) {
        size += slice.take;
        for (uint64_t i = 0; i < slice.take; ++i) {
          read.emplace_back(slice.block, slice.skip + i);
        }
      }
      sizes.push_back(size);
    }
    for (size_t block = 0; block < records.size(); ++block) {
      for (uint64_t i = 0; i < records[block]; ++i) want.emplace_back(block, i);
    }
    std::sort(read.begin(), read.end());
    EXPECT_EQ(read, want);
    const auto [low, high] = std::minmax_element(sizes.begin(), sizes.end());
    EXPECT_LE(*high - *low, 1);
  }
}

std::vector<size_t> BlockOrder(uint64_t seed, uint32_t epoch) {
  std::vector<size_t> order;
  for (const Slice& slice :
       PlanShuffled(Blocks(std::vector<uint64_t>(50, 1)), seed, epoch, 1, 0)) {
    order.push_back(slice.block);
  }
  return order;
}

TEST(PlanTest, TheOrderIsAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(BlockOrder(1, 0), BlockOrder(1, 0));
  EXPECT_NE(BlockOrder(1, 0), BlockOrder(1, 1));
  EXPECT_NE(BlockOrder(1, 0), BlockOrder(2, 0));
}

// Models of every job depend on these numbers.
TEST(PlanTest, ThePermutationsNeverChange) {
  std::vector<size_t> order = BlockOrder(7, 3);
  order.resize(5);
  EXPECT_THAT(order, ElementsAre(44, 19, 6, 31, 30));
  EXPECT_THAT(ShuffleGroup(7, 3, 1, 2, 6), ElementsAre(4, 3, 5, 0, 1, 2));
}

TEST(ShuffleGroupTest, IsAPermutationOfItsPlace) {
  std::vector<uint32_t> order = ShuffleGroup(1, 2, 3, 4, 1000);
  EXPECT_NE(order, ShuffleGroup(2, 2, 3, 4, 1000));
  EXPECT_NE(order, ShuffleGroup(1, 3, 3, 4, 1000));
  EXPECT_NE(order, ShuffleGroup(1, 2, 4, 4, 1000));
  EXPECT_NE(order, ShuffleGroup(1, 2, 3, 5, 1000));
  std::sort(order.begin(), order.end());
  std::vector<uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(order, all);
}

TEST(ShuffleGroupTest, PutsEveryRecordEverywhere) {
  // 6000 permutations of 3: each of the 6 about 1000 times (deviation 29).
  std::vector<int> counts(9);
  for (uint64_t group = 0; group < 6000; ++group) {
    const auto order = ShuffleGroup(1, 0, 0, group, 3);
    ++counts[order[0] * 3 + order[1]];
  }
  for (int first = 0; first < 3; ++first) {
    for (int second = 0; second < 3; ++second) {
      EXPECT_NEAR(counts[first * 3 + second], first == second ? 0 : 1000, 150);
    }
  }
}

TEST(GroupSlicesTest, EndsBeforeTheBlockThatIsTooMuch) {
  const auto blocks = Blocks({1, 1, 1, 1, 1});  // Of 100 bytes each.
  const auto slices = PlanInOrder(blocks, RecordPart::kTrain, 1, 0);
  EXPECT_THAT(GroupSlices(blocks, slices, 250), ElementsAre(0, 2, 4, 5));
  EXPECT_THAT(GroupSlices(blocks, slices, 500), ElementsAre(0, 5));
  EXPECT_THAT(GroupSlices(blocks, slices, 1), ElementsAre(0, 1, 2, 3, 4, 5))
      << "a block that is too large is a group of its own";
  EXPECT_THAT(GroupSlices(blocks, {}, 250), ElementsAre(0));
}

TEST(BlockBytesTest, GivesEveryRankSixteenBlocksWithinLimits) {
  EXPECT_EQ(BlockBytes(0, 4, 0), 4096);
  EXPECT_EQ(BlockBytes(64 * 50000, 4, 0), 50000);
  EXPECT_EQ(BlockBytes(uint64_t{1} << 40, 4, 0), 1 << 20);
  EXPECT_EQ(BlockBytes(1000, 4, 77), 77);
}

}  // namespace
}  // namespace seraph
