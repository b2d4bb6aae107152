// bsp, ssp and asp: what a pull returns and when an entry is applied.
#include <algorithm>

#include "common/base/draw.h"
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
using ::testing::ElementsAre;

// r0 and r1 pull clock 0, both push, the partition steps. r1's worker dies
// before another partition has its entry, so that its second attempt runs
// clock 0 again: it must read the parameters before clock 0, not after.
TEST(BspTest, ARankThatRunsAClockAgainReadsItsOldParameters) {
  Harness p(OptionsFor(SyncMode::kBsp, 2));
  p.Push(0, {0, 0}, {1, 2}, {1, 1});
  p.Push(1, {0, 0}, {2, 3}, {10, 10});  // Steps: {1: 1, 2: 11, 3: 10}.
  ASSERT_THAT(p.Now({1, 2, 3}), ElementsAre(1, 11, 10));

  ASSERT_THAT(p.Begin(1, 2), IsOk());
  EXPECT_THAT(p.Values(p.Pull(1, {0, 0}, {1, 2, 3, 4}, 2)),
              ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(p.Code(p.Push(1, {0, 0}, {2, 3}, {10, 10}, 2)), PartCode::kOk);
  EXPECT_THAT(p.Now({1, 2, 3}), ElementsAre(1, 11, 10)) << "applied twice";
  EXPECT_THAT(p.Values(p.Pull(0, {0, 1}, {1, 2, 3})), ElementsAre(1, 11, 10));

  // Clock 1 overwrites some of it; clock 1 can still be read, clock 0 not.
  p.Push(0, {0, 1}, {2}, {100});
  p.Push(1, {0, 1}, {}, {}, 2);
  EXPECT_THAT(p.Now({1, 2, 3}), ElementsAre(1, 111, 10));
  EXPECT_THAT(p.Values(p.Pull(1, {0, 1}, {1, 2, 3}, 2)),
              ElementsAre(1, 11, 10));
  EXPECT_EQ(p.Code(p.Pull(1, {0, 0}, {1}, 2)), PartCode::kInvalid);
}

TEST(BspTest, ContributionsAreFoldedInRankOrderWhateverTheArrival) {
  // Float sums depend on their order: (1e8 + 1) - 1e8 is 0, 1e8 - 1e8 + 1 is 1.
  const std::vector<float> value = {1e8f, 1.0f, -1e8f};
  std::vector<uint32_t> order = {0, 1, 2};
  do {
    Harness p(OptionsFor(SyncMode::kBsp, 3));
    for (uint32_t rank : order) p.Push(rank, {0, 0}, {5}, {value[rank]});
    EXPECT_THAT(p.Now({5}), ElementsAre(0.0f));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(BspTest, MeanIsOverTheExamplesOfAllRanks) {
  PartitionOptions options = OptionsFor(SyncMode::kBsp, 3);
  options.sync.spec.combine = Combine::kMean;
  Harness p(options);
  const auto push = [&](uint32_t rank, uint64_t examples, std::vector<Key> keys,
                        std::vector<float> values) {
    PushMessage message;
    message.rank = RankName{rank, 1};
    message.examples = examples;
    message.keys = std::move(keys);
    message.values = std::move(values);
    p.Push(message);
  };
  push(0, 256, {1, 2}, {1, 1});
  push(1, 256, {1}, {1});
  p.EndEpoch(2, {0, 0});  // No batch: it counts nothing.
  EXPECT_THAT(p.Now({1, 2}), ElementsAre(1.0f, 0.5f));
}

// Ranks have 3, 1 and 2 batches: nobody waits for a rank that is done, and
// all meet at (1, 0).
TEST(BspTest, RanksOfUnequalLengthNeitherHangNorRunAhead) {
  Harness p(OptionsFor(SyncMode::kBsp, 3));
  const int batches[3] = {3, 1, 2};
  for (uint32_t step = 0; step < 4; ++step) {
    for (uint32_t rank = 0; rank < 3; ++rank) {
      const Clock clock{0, step};
      if (step < batches[rank]) {
        const Ticket pull = p.Pull(rank, clock, {5});
        ASSERT_FALSE(p.Waits(pull)) << "rank " << rank << " step " << step;
        p.Push(rank, clock, {5}, {1});
      } else if (step == batches[rank]) {
        p.EndEpoch(rank, clock);
      }
    }
    const Ticket next = p.Pull(1, {1, 0}, {5});
    EXPECT_EQ(p.Waits(next), step < 3) << "step " << step;
    if (step == 3) {
      EXPECT_THAT(p.Values(next), ElementsAre(6));
    }
  }
}

TEST(BspTest, AnEndOfEpochIsNoStepOfTheLearningRate) {
  // With sgd's l2 every step of the partition shrinks every weight; marks that
  // end an epoch must not.
  TableSpec table = SumTable(TableKind::kDense);
  table.optimizer.kind = OptimizerKind::kSgd;
  table.optimizer.learning_rate = 0.5;
  table.optimizer.l2 = 1.0;
  Harness p(OptionsFor(SyncMode::kBsp, 1, table), KeyRange{0, 99});
  p.Push(0, {0, 0}, {5}, {-2});
  EXPECT_THAT(p.Now({5}), ElementsAre(1));
  p.EndEpoch(0, {0, 1});
  EXPECT_THAT(p.Now({5}), ElementsAre(1));
  p.Push(0, {1, 0}, {}, {});  // A step without keys here does.
  EXPECT_THAT(p.Now({5}), ElementsAre(0.5f));
}

TEST(SspTest, WaitsForTheSlowestButOnlyInsideTheEpoch) {
  PartitionOptions options = OptionsFor(SyncMode::kSsp, 2);
  options.sync.spec.staleness = 2;
  Harness p(options);
  for (uint32_t step = 0; step < 3; ++step) {
    EXPECT_FALSE(p.Waits(p.Pull(0, {0, step}, {5}))) << step;
    p.Push(0, {0, step}, {5}, {1});
  }
  const Ticket third = p.Pull(0, {0, 3}, {5});
  EXPECT_TRUE(p.Waits(third)) << "rank 1 has not finished clock 0";
  p.Push(1, {0, 0}, {5}, {10});
  ASSERT_FALSE(p.Waits(third));
  EXPECT_THAT(p.Values(third), ElementsAre(13));

  // Rank 1 has no more records: it holds nobody, until the epoch's end.
  p.EndEpoch(1, {0, 1});
  for (uint32_t step = 3; step < 9; ++step) {
    p.Push(0, {0, step}, {5}, {1});
    EXPECT_FALSE(p.Waits(p.Pull(0, {0, step + 1}, {5})));
  }
  const Ticket next_epoch = p.Pull(1, {1, 0}, {5});
  EXPECT_TRUE(p.Waits(next_epoch)) << "rank 0 is still in epoch 0";
  p.EndEpoch(0, {0, 9});
  EXPECT_THAT(p.Values(next_epoch), ElementsAre(19));
}

TEST(SspTest, APullContainsTheOwnEntryBeforeIt) {
  PartitionOptions options = OptionsFor(SyncMode::kSsp, 1);
  options.sync.spec.staleness = 5;
  Harness p(options);
  const Ticket ahead = p.Pull(0, {0, 1}, {5});  // Keys sent ahead: it parks.
  EXPECT_TRUE(p.Waits(ahead));
  p.Push(0, {0, 0}, {5}, {1});
  EXPECT_THAT(p.Values(ahead), ElementsAre(1));
}

TEST(AspTest, APullWaitsForNobodyElse) {
  Harness p(OptionsFor(SyncMode::kAsp, 2));
  const Ticket ahead = p.Pull(0, {0, 1}, {5});
  EXPECT_TRUE(p.Waits(ahead)) << "the own entry is missing";
  p.Push(0, {0, 0}, {5}, {1});
  EXPECT_THAT(p.Values(ahead), ElementsAre(1));
  p.EndEpoch(0, {0, 1});
  EXPECT_FALSE(p.Waits(p.Pull(0, {1, 0}, {5})));
}

TEST(AspTest, WithWorkAtTheEpochsEndAllRanksMeetThere) {
  PartitionOptions options = OptionsFor(SyncMode::kAsp, 2);
  options.sync.epoch_barrier = true;
  Harness p(options);
  p.Push(0, {0, 0}, {5}, {1});
  p.EndEpoch(0, {0, 1});
  const Ticket pull = p.Pull(0, {1, 0}, {5});
  EXPECT_TRUE(p.Waits(pull)) << "rank 1 may still push to epoch 0";
  p.Push(1, {0, 0}, {5}, {10});
  EXPECT_TRUE(p.Waits(pull));
  p.EndEpoch(1, {0, 1});
  EXPECT_THAT(p.Values(pull), ElementsAre(11));
}

TEST(PipelineTest, LetsThatManyOwnEntriesBeMissing) {
  for (SyncMode mode : {SyncMode::kSsp, SyncMode::kAsp}) {
    PartitionOptions options = OptionsFor(mode, 1);
    options.sync.spec.staleness = 100;
    options.sync.spec.pipeline = 2;
    Harness p(options);
    EXPECT_FALSE(p.Waits(p.Pull(0, {0, 2}, {5})));
    EXPECT_TRUE(p.Waits(p.Pull(0, {0, 3}, {5})));
    p.EndEpoch(0, {0, 0});
    // Across the epoch's end nothing may be missing.
    EXPECT_FALSE(p.Waits(p.Pull(0, {1, 0}, {5})));
    EXPECT_TRUE(p.Waits(p.Pull(0, {2, 0}, {5})));
  }
}

// Ranks with random delays, on one partition, until all are done; each pushes
// 1 into a column of its own, so that a pull shows exactly which entries it
// contains. Checks the mode's promise at every answered pull.
class RandomRun : public ::testing::TestWithParam<uint64_t> {};

struct Bound {
  SyncMode mode;
  uint32_t staleness;
};

void CheckRun(uint64_t seed, Bound bound) {
  constexpr uint32_t kRanks = 4;
  constexpr uint32_t kEpochs = 3;
  TableSpec table = SumTable();
  table.width = kRanks;
  PartitionOptions options = OptionsFor(bound.mode, kRanks, table);
  options.sync.spec.staleness = bound.staleness;
  Harness p(options);

  struct Rank {
    Clock clock;
    std::optional<Ticket> pull;
    uint32_t done = 0;  // Entries with a push.
  };
  const auto batches = [&](uint32_t rank, uint32_t epoch) {
    return 1 + ToBelow(Draw(seed, {0, rank, epoch}), 6);
  };
  std::vector<Rank> ranks(kRanks);
  // What rank `of` has pushed at clocks < clock, once it will have.
  const auto pushed_below = [&](uint32_t of, Clock clock) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < clock.epoch; ++e) count += batches(of, e);
    return count + std::min<uint32_t>(clock.step, batches(of, clock.epoch));
  };
  uint64_t draws = 0;
  int answered = 0, waited = 0;
  for (int idle = 0; idle < 10000;) {
    const uint32_t r = ToBelow(Draw(seed, {1, draws++}), kRanks);
    Rank& rank = ranks[r];
    ++idle;
    if (rank.clock.epoch == kEpochs) continue;
    if (rank.clock.step == batches(r, rank.clock.epoch)) {
      p.EndEpoch(r, rank.clock);
      rank.clock = rank.clock.NextEpoch();
      idle = 0;
      continue;
    }
    if (!rank.pull.has_value()) {
      rank.pull = p.Pull(r, rank.clock, {5});
      if (p.Waits(*rank.pull)) ++waited;
    }
    if (p.Waits(*rank.pull)) continue;
    idle = 0;
    ++answered;
    const std::vector<float> seen = p.Values(*rank.pull);
    rank.pull.reset();
    for (uint32_t of = 0; of < kRanks; ++of) {
      const uint32_t exact = pushed_below(of, rank.clock);
      if (bound.mode == SyncMode::kBsp) {
        ASSERT_EQ(seen[of], exact) << "seed " << seed;
      } else {
        ASSERT_LE(seen[of], ranks[of].done) << "seed " << seed;
        const uint32_t back = std::min(bound.staleness, rank.clock.step);
        const Clock floor{rank.clock.epoch, rank.clock.step - back};
        const uint32_t least =
            of == r
                ? exact
                : (bound.mode == SyncMode::kSsp ? pushed_below(of, floor) : 0);
        ASSERT_GE(seen[of], least)
            << "seed " << seed << ": rank " << r << " at "
            << ToString(rank.clock) << " misses entries of rank " << of;
      }
    }
    std::vector<float> push(kRanks, 0.0f);
    push[r] = 1;
    ASSERT_EQ(p.Code(p.Push(r, rank.clock, {5}, push)), PartCode::kOk);
    ++rank.done;
    rank.clock = rank.clock.NextStep();
  }
  for (uint32_t r = 0; r < kRanks; ++r) {
    EXPECT_EQ(ranks[r].clock, (Clock{kEpochs, 0})) << "hangs, seed " << seed;
  }
  EXPECT_GT(answered, 20);
  if (bound.mode != SyncMode::kAsp) {
    EXPECT_GT(waited, 0) << "the delays never mattered, seed " << seed;
  }
}

TEST_P(RandomRun, BspReadsExactlyTheClocksBefore) {
  CheckRun(GetParam(), {SyncMode::kBsp, 0});
}
TEST_P(RandomRun, SspKeepsItsBound) {
  CheckRun(GetParam(), {SyncMode::kSsp, 2});
}
TEST_P(RandomRun, SspWithoutStalenessWaitsLikeBsp) {
  CheckRun(GetParam(), {SyncMode::kSsp, 0});
}
TEST_P(RandomRun, AspReadsItsOwnEntries) {
  CheckRun(GetParam(), {SyncMode::kAsp, 0});
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRun, ::testing::Range<uint64_t>(0, 50));

}  // namespace
}  // namespace seraph
