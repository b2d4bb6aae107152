// Histories in which an entry could be taken apart, twice or not at all, or in
// which somebody who only looks could change what is there.
#include <algorithm>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/partition_harness.h"

namespace seraph {
namespace {

using ::seraph::testing::Harness;
using ::seraph::testing::IsOk;
using ::seraph::testing::OptionsFor;
using ::seraph::testing::SumTable;
using ::testing::Each;
using ::testing::ElementsAre;

PushMessage Chunk(RankName rank, Clock clock, uint32_t chunk, uint32_t chunks,
                  std::vector<Key> keys, float value) {
  PushMessage message;
  message.rank = rank;
  message.clock = clock;
  message.examples = 1;
  message.chunk = chunk;
  message.chunks = chunks;
  message.values.assign(keys.size(), value);
  message.keys = std::move(keys);
  return message;
}

// If the acknowledgement meant "applied", no rank would ever finish: each waits
// for its own before it goes on, and the clock for all of them.
TEST(AcknowledgementTest, UnderBspItComesBeforeTheClockIsComplete) {
  Harness p(OptionsFor(SyncMode::kBsp, 2));
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {5}, {1})), PartCode::kOk);
  EXPECT_THAT(p.Now({5}), ElementsAre(0)) << "who reads without a clock sees "
                                             "what is applied alone";
  EXPECT_EQ(p.Code(p.Push(1, {0, 0}, {5}, {10})), PartCode::kOk);
  EXPECT_THAT(p.Now({5}), ElementsAre(11));
}

// 200 chunks are on their way and the first is lost; its retry comes when all
// others are in.
TEST(ChunksTest, TheFirstOfManyMayComeLast) {
  constexpr uint32_t kChunks = 200;
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  std::vector<Key> keys;
  for (uint32_t i = 0; i < kChunks; ++i) keys.push_back(i);
  for (uint32_t i = 1; i < kChunks; ++i) {
    EXPECT_TRUE(p.Waits(p.Push(Chunk({0, 1}, {0, 0}, i, kChunks, {i}, 1))));
    EXPECT_THAT(p.Now(keys), Each(0));
  }
  EXPECT_EQ(p.Code(p.Push(Chunk({0, 1}, {0, 0}, 0, kChunks, {0}, 1))),
            PartCode::kOk);
  EXPECT_THAT(p.Now(keys), Each(1));
}

// Attempt 1 cut its push into three and the last one arrived; attempt 2 sees
// other weights and pushes other keys in two. Only what attempt 2 computed
// becomes the entry, and only when it is whole.
TEST(ChunksTest, ASecondAttemptPushesOtherKeysInAnotherCut) {
  for (SyncMode mode : {SyncMode::kSsp, SyncMode::kAsp}) {
    Harness p(OptionsFor(mode, 1));
    p.Push(Chunk({0, 1}, {0, 0}, 2, 3, {5, 6}, 1));
    ASSERT_THAT(p.Begin(0, 2), IsOk());
    EXPECT_TRUE(p.Waits(p.Push(Chunk({0, 2}, {0, 0}, 0, 2, {2, 3}, 10))));
    EXPECT_EQ(p.Code(p.Push(Chunk({0, 1}, {0, 0}, 0, 3, {1, 2}, 1))),
              PartCode::kStaleAttempt);
    EXPECT_EQ(p.Code(p.Push(Chunk({0, 1}, {0, 0}, 1, 3, {3, 4}, 1))),
              PartCode::kStaleAttempt);
    EXPECT_THAT(p.Now({1, 2, 3, 4, 5, 6}), Each(0));
    EXPECT_EQ(p.Code(p.Push(Chunk({0, 2}, {0, 0}, 1, 2, {4}, 10))),
              PartCode::kOk);
    EXPECT_THAT(p.Now({1, 2, 3, 4, 5, 6}), ElementsAre(0, 10, 10, 10, 0, 0));
  }
}

// Two pushes of one rank in one clock would have no order after a retry: the
// second is a repeat, whatever is in it.
TEST(EntryTest, AClockTakesOnePushOfARank) {
  for (SyncMode mode : {SyncMode::kBsp, SyncMode::kSsp, SyncMode::kAsp}) {
    Harness p(OptionsFor(mode, 1));
    p.Push(0, {0, 0}, {5}, {1});
    EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {5, 6}, {10, 10})), PartCode::kOk);
    EXPECT_THAT(p.Now({5, 6}), ElementsAre(1, 0));
  }
}

// The worker of attempt 1 was stopped and wakes when attempt 2 has begun here
// but nowhere else yet: neither the clock it was in nor the next one is taken.
TEST(AttemptTest, AWorkerThatWakesUpPushesNothingMore) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  p.Push(0, {0, 0}, {5}, {1});
  ASSERT_THAT(p.Begin(0, 2), IsOk());
  EXPECT_EQ(p.partition().state().rank(0).next, (Clock{0, 1}));
  EXPECT_EQ(p.Code(p.Push(0, {0, 1}, {5}, {1})), PartCode::kStaleAttempt);
  EXPECT_EQ(p.Code(p.Push(0, {0, 2}, {5}, {1})), PartCode::kStaleAttempt);
  // Not even a repeat of what is there may be told to it.
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {5}, {1})), PartCode::kStaleAttempt);
  EXPECT_EQ(p.Code(p.Push(0, {0, 1}, {5}, {10}, 2)), PartCode::kOk);
  EXPECT_THAT(p.Now({5}), ElementsAre(11));
}

// The learning rate belongs to the clock of the entry: a rank that is behind
// steps with the rate of its own clock, not with that of the partition's count.
TEST(LearningRateTest, FollowsTheClockOfTheEntry) {
  TableSpec table = SumTable();
  table.optimizer.kind = OptimizerKind::kSgd;
  table.schedule.kind = ScheduleKind::kInverseSquareRoot;
  const auto step_at = [&](Clock clock, bool others_first) {
    Harness p(OptionsFor(SyncMode::kAsp, 2, table));
    for (uint32_t step = 0; others_first && step < 5; ++step) {
      p.Push(1, {0, step}, {9}, {1});
    }
    for (uint32_t step = 0; step < clock.step; ++step) {
      p.Push(0, {0, step}, {}, {});
    }
    p.Push(0, clock, {5}, {1});
    return p.Now({5})[0];
  };
  EXPECT_EQ(step_at({0, 0}, true), step_at({0, 0}, false));
  EXPECT_EQ(step_at({0, 3}, true), step_at({0, 3}, false));
  EXPECT_NE(step_at({0, 3}, false), step_at({0, 0}, false));
}

// Every clock is pulled, exported and read without a clock in one run, in the
// other nobody looks: decay that is computed into an answer is never stored.
class LookingTest : public ::testing::TestWithParam<OptimizerKind> {};

TEST_P(LookingTest, ChangesNoByteAndCreatesNoKey) {
  for (SyncMode mode : {SyncMode::kBsp, SyncMode::kAsp}) {
    for (TableKind kind : {TableKind::kDense, TableKind::kSparse}) {
      TableSpec table = SumTable(kind);
      table.optimizer.kind = GetParam();
      table.optimizer.learning_rate = 0.1;
      table.optimizer.l2 = 0.01;
      if (GetParam() == OptimizerKind::kSgd) table.optimizer.l1 = 0.001;
      if (GetParam() == OptimizerKind::kAdamw) {
        table.optimizer.weight_decay = 0.01;
      }
      table.initializer = {.kind = InitializerKind::kConstant, .mean = 0.7};
      const auto train = [&](bool look) {
        Harness p(OptionsFor(mode, 1, table), KeyRange{0, 99});
        for (uint32_t step = 0; step < 60; ++step) {
          // Key 7 idles for long, key 50 is never pushed.
          const Key key = step % 30 == 0 ? 7 : step % 3;
          p.Push(0, {0, step}, {key}, {0.3f});
          if (!look) continue;
          p.Pull(0, {0, step + 1}, {0, 7, 50});
          p.Now({1, 2, 7, 50});
          std::vector<Key> keys;
          std::vector<float> values;
          p.partition().state().store().Cursor()->Next(
              1000, p.partition().state().sums(), &keys, &values);
        }
        std::vector<Key> keys;
        std::vector<float> values;
        p.partition().state().store().Cursor()->Next(
            1000, p.partition().state().sums(), &keys, &values);
        return std::pair(keys, values);
      };
      EXPECT_EQ(train(true), train(false));
      EXPECT_EQ(train(false).first.size(), kind == TableKind::kDense ? 100 : 4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, LookingTest,
                         ::testing::Values(OptimizerKind::kSgd,
                                           OptimizerKind::kAdagrad,
                                           OptimizerKind::kAdamw));

// A rank whose share of an epoch is over holds nobody, and the clock in which
// it said so can be run again by the others: the mark is an entry of its own.
TEST(EndOfEpochTest, IsAClockOfItsOwnThatCanBeReadAgain) {
  Harness p(OptionsFor(SyncMode::kBsp, 2));
  p.Push(0, {0, 0}, {5}, {1});
  p.Push(1, {0, 0}, {5}, {1});
  p.EndEpoch(1, {0, 1});
  p.Push(0, {0, 1}, {5}, {1});
  EXPECT_THAT(p.Now({5}), ElementsAre(3));
  // Rank 0 runs its clock again although the partition has stepped on.
  ASSERT_THAT(p.Begin(0, 2), IsOk());
  EXPECT_THAT(p.Values(p.Pull(0, {0, 1}, {5}, 2)), ElementsAre(2));
  // It ends its epoch; both read the parameters that stand still there.
  p.EndEpoch(0, {0, 2}, 2);
  EXPECT_THAT(p.Values(p.Pull(0, {1, 0}, {5}, 2)), ElementsAre(3));
  EXPECT_THAT(p.Values(p.Pull(1, {1, 0}, {5})), ElementsAre(3));
  // A mark that comes twice ends one epoch.
  EXPECT_EQ(p.Code(p.EndEpoch(0, {0, 2}, 2)), PartCode::kOk);
  EXPECT_EQ(p.partition().state().rank(0).next, (Clock{1, 0}));
}

}  // namespace
}  // namespace seraph
