// Cuts through the partitions of a job. docs/fault-tolerance.md
#include <map>
#include <optional>

#include "common/base/draw.h"
#include "common/base/planted_bug.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/replica_harness.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::MakePartition;
using ::seraph::testing::OptionsFor;
using ::seraph::testing::ReplicaSet;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;

constexpr absl::Duration kLease = ReplicaSet::kLease;

ReplicaSet Alone(SyncMode mode, uint32_t ranks) {
  ReplicaSet r(OptionsFor(mode, ranks), 1, {0});
  r.Epoch(1, 0, {0});
  for (uint32_t rank = 0; rank < ranks; ++rank) r.Begin(0, rank);
  return r;
}

absl::StatusOr<PartitionCopy> MoveCopy(ReplicaSet& r, uint64_t cut) {
  return r.at(0).MoveCopy(cut);
}

float ValueIn(const PartitionCopy& copy) {
  return copy.blocks.empty() ? 0 : copy.blocks[0].cells[0];
}

TEST(CutTest, StagesFromTheAnswerOnAndCopiesWhereAllRanksStand) {
  for (SyncMode mode : {SyncMode::kSsp, SyncMode::kAsp}) {
    ReplicaSet r = Alone(mode, 2);
    r.Push(0, 0, {0, 0}, 1);
    const auto clocks = r.BeginCut(0, 7);
    ASSERT_THAT(clocks, IsOk());
    EXPECT_THAT(*clocks, ElementsAre(Clock{0, 1}, Clock{0, 0}));
    const Ticket below = r.Push(0, 1, {0, 0}, 10);
    const Ticket behind = r.Push(0, 0, {0, 1}, 100);
    EXPECT_TRUE(r.Waits(below)) << "where the cut is, nobody knows yet";
    EXPECT_THAT(*r.BeginCut(0, 7), ElementsAre(Clock{0, 1}, Clock{0, 0}));
    // Another partition has rank 1 at (0, 2).
    const Ticket cut = r.TakeCut(0, 7, {{0, 1}, {0, 2}});
    EXPECT_TRUE(r.Acked(below));
    EXPECT_TRUE(r.Waits(behind));
    EXPECT_TRUE(r.Waits(cut));
    EXPECT_TRUE(r.Acked(r.Push(0, 1, {0, 1}, 1000)));
    ASSERT_FALSE(r.Waits(cut));
    EXPECT_THAT(r.DoneOf(cut).clocks, ElementsAre(Clock{0, 1}, Clock{0, 2}));
    EXPECT_TRUE(r.Acked(behind)) << "what was staged goes on";
    EXPECT_EQ(r.ValueAt(0), 1111);
    // A repeat of the order is only confirmed, also when the copy is gone.
    EXPECT_THAT(r.DoneOf(r.TakeCut(0, 7, {{0, 1}, {0, 2}})).status, IsOk());
    const auto copy = MoveCopy(r, 7);
    ASSERT_THAT(copy, IsOk());
    EXPECT_EQ(ValueIn(*copy), 1011);
    EXPECT_EQ(copy->cut.ranks[1].clock, (Clock{0, 2}));
    EXPECT_THAT(r.DoneOf(r.TakeCut(0, 7, {{0, 1}, {0, 2}})).status, IsOk());
    EXPECT_THAT(MoveCopy(r, 7), StatusIs(absl::StatusCode::kNotFound));
  }
}

TEST(CutTest, AHoldEndsByItselfAndALateOrderIsRefused) {
  ReplicaSet r = Alone(SyncMode::kAsp, 2);
  ASSERT_THAT(r.BeginCut(0, 7), IsOk());
  const Ticket staged = r.Push(0, 0, {0, 0});
  r.Pass(0.9 * kLease);
  EXPECT_TRUE(r.Waits(staged));
  r.Pass(0.2 * kLease);
  EXPECT_TRUE(r.Acked(staged));
  EXPECT_THAT(r.BeginCut(0, 7), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(r.DoneOf(r.TakeCut(0, 7, {{0, 1}, {0, 0}})).status,
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(r.BeginCut(0, 8), IsOk());
  const Ticket late = r.TakeCut(0, 8, {{0, 1}, {0, 5}});
  r.Pass(1.2 * kLease);
  EXPECT_THAT(r.DoneOf(late).status, StatusIs(absl::StatusCode::kAborted))
      << "rank 1 never came there";
}

TEST(CutTest, ANewEpochMakesItVoid) {
  ReplicaSet r = Alone(SyncMode::kAsp, 1);
  ASSERT_THAT(r.BeginCut(0, 7), IsOk());
  const Ticket staged = r.Push(0, 0, {0, 0});
  const Ticket cut = r.TakeCut(0, 7, {{0, 3}});
  r.Epoch(2, 0, {0});
  EXPECT_THAT(r.DoneOf(cut).status, StatusIs(absl::StatusCode::kAborted));
  EXPECT_TRUE(r.Acked(staged));
  EXPECT_THAT(r.DoneOf(r.TakeCut(0, 7, {{0, 3}})).status,
              StatusIs(absl::StatusCode::kAborted));
  // And a copy that was not fetched.
  r.TakeCut(0, 8, {{0, 1}});
  r.Epoch(3, 0, {0});
  EXPECT_THAT(MoveCopy(r, 8), StatusIs(absl::StatusCode::kNotFound));
}

TEST(CutTest, BeginsByItselfWhereNoRankHasPassed) {
  ReplicaSet r = Alone(SyncMode::kSsp, 2);
  r.Push(0, 0, {0, 0}, 1);
  r.EndEpoch(0, 0, {0, 1});
  // At the end of the epoch; rank 1 is not there yet.
  const Ticket cut = r.TakeCut(0, 7, {{1, 0}, {1, 0}});
  const Ticket next = r.Push(0, 0, {1, 0}, 100);
  EXPECT_TRUE(r.Waits(next)) << "at or behind the cut";
  EXPECT_TRUE(r.Acked(r.Push(0, 1, {0, 0}, 10)));
  EXPECT_TRUE(r.Waits(cut));
  r.EndEpoch(0, 1, {0, 1});
  ASSERT_FALSE(r.Waits(cut));
  EXPECT_THAT(r.DoneOf(cut).clocks, ElementsAre(Clock{1, 0}, Clock{1, 0}));
  EXPECT_TRUE(r.Acked(next));
  EXPECT_EQ(ValueIn(*MoveCopy(r, 7)), 11);
  // Too late for this one.
  EXPECT_THAT(r.DoneOf(r.TakeCut(0, 8, {{1, 0}, {1, 0}})).status,
              StatusIs(absl::StatusCode::kAborted));
}

// r0 ends its epoch, which answers (e, n + 1), not (e + 1, 0): nobody has to
// run a whole epoch inside the hold.
TEST(CutTest, OfBspIsAClockOrTheEndOfItsEpoch) {
  ReplicaSet r = Alone(SyncMode::kBsp, 2);
  for (uint32_t step = 0; step < 2; ++step) {
    r.Push(0, 0, {0, step}, 1);
    r.Push(0, 1, {0, step}, 10);
  }
  r.EndEpoch(0, 0, {0, 2});
  const auto clocks = r.BeginCut(0, 7);
  ASSERT_THAT(clocks, IsOk());
  EXPECT_THAT(*clocks, ElementsAre(Clock{0, 3}, Clock{0, 2}));
  const Clock k{0, 3};
  const Ticket cut = r.TakeCut(0, 7, {k, k});
  const Ticket below = r.Push(0, 1, {0, 2}, 10);
  EXPECT_TRUE(r.Acked(below));
  ASSERT_FALSE(r.Waits(cut));
  EXPECT_THAT(r.DoneOf(cut).clocks, ElementsAre(Clock{1, 0}, Clock{0, 3}));
  EXPECT_EQ(ValueIn(*MoveCopy(r, 7)), 32);
  EXPECT_TRUE(r.Acked(r.Push(0, 1, {0, 3}, 10)));
}

// Rank 1 waits for a worker; rank 0 has gone on as far as it can.
TEST(CutTest, AtRestIsTheSlowestRanksClock) {
  ReplicaSet r = Alone(SyncMode::kBsp, 2);
  r.Push(0, 0, {0, 0}, 1);
  r.Push(0, 1, {0, 0}, 10);
  r.Push(0, 0, {0, 1}, 100);
  EXPECT_THAT(*r.BeginCut(0, 7, true), ElementsAre(Clock{0, 2}, Clock{0, 1}));
  const Clock k{0, 1};
  const Ticket cut = r.TakeCut(0, 7, {k, k}, true);
  ASSERT_FALSE(r.Waits(cut));
  EXPECT_THAT(r.DoneOf(cut).clocks, ElementsAre(k, k));
  auto copy = MoveCopy(r, 7);
  ASSERT_THAT(copy, IsOk());
  EXPECT_EQ(ValueIn(*copy), 11) << "without the entry that waits";
  EXPECT_EQ(copy->cut.ranks[0].clock, k);
  // It goes on here all the same, and from the copy it would be run again.
  EXPECT_TRUE(r.Acked(r.Push(0, 1, {0, 1}, 1000)));
  EXPECT_EQ(r.ValueAt(0), 1111);

  EXPECT_THAT(r.DoneOf(r.TakeCut(0, 8, {k, k}, true)).status,
              StatusIs(absl::StatusCode::kAborted))
      << "the slowest has passed";
}

TEST(CutTest, AtRestItWaitsForWhatAnotherPartitionHas) {
  ReplicaSet r = Alone(SyncMode::kBsp, 2);
  r.Push(0, 0, {0, 0}, 1);
  ASSERT_THAT(r.BeginCut(0, 7, true), IsOk());
  const Clock k{0, 1};  // Rank 1's entry (0, 0) is there.
  const Ticket cut = r.TakeCut(0, 7, {k, k}, true);
  EXPECT_TRUE(r.Waits(cut));
  const Ticket behind = r.Push(0, 0, {0, 1}, 100);
  EXPECT_TRUE(r.Waits(behind));
  EXPECT_TRUE(r.Acked(r.Push(0, 1, {0, 0}, 10)));
  ASSERT_FALSE(r.Waits(cut));
  EXPECT_TRUE(r.Acked(behind));
  EXPECT_EQ(ValueIn(*MoveCopy(r, 7)), 11);
}

TEST(CutTest, AtRestAnEndThatAllKnowIsInItAndOneThatWaitsIsNot) {
  ReplicaSet r = Alone(SyncMode::kBsp, 3);
  for (uint32_t rank = 0; rank < 3; ++rank) r.Push(0, rank, {0, 0}, 1);
  r.EndEpoch(0, 0, {0, 1});
  r.Push(0, 1, {0, 1}, 10);
  r.Push(0, 2, {0, 1}, 10);
  r.EndEpoch(0, 1, {0, 2});
  ASSERT_THAT(r.BeginCut(0, 7, true), IsOk());
  const Clock k{0, 2};
  const Ticket cut = r.TakeCut(0, 7, {k, k, k}, true);
  ASSERT_FALSE(r.Waits(cut));
  EXPECT_THAT(r.DoneOf(cut).clocks, ElementsAre(Clock{1, 0}, k, k));
  const auto copy = MoveCopy(r, 7);
  EXPECT_EQ(ValueIn(*copy), 23);
  for (const RankCut& rank : copy->cut.ranks) {
    EXPECT_EQ(rank.epoch_ends.size(), rank.clock == k ? 0u : 1u);
    EXPECT_FALSE(rank.ledger.empty());
  }
}

TEST(CutTest, AttemptsPassAndTheirRanksReachIt) {
  ReplicaSet r = Alone(SyncMode::kAsp, 1);
  r.BeginCut(0, 7).IgnoreError();
  const Ticket old = r.Push(0, 0, {0, 0});
  const Ticket cut = r.TakeCut(0, 7, {{0, 2}});
  EXPECT_TRUE(r.Acked(old));
  const Ticket ahead = r.Push(0, 0, {0, 2});
  EXPECT_TRUE(r.Waits(ahead));
  EXPECT_THAT(r.DoneOf(r.Begin(0, 0, 2)).status, IsOk());
  EXPECT_EQ(r.Code(ahead), PartCode::kStaleAttempt);
  EXPECT_TRUE(r.Acked(r.Push(0, 0, {0, 1}, 1, 2)));
  EXPECT_FALSE(r.Waits(cut));
}

TEST(CutTest, StagedEntriesOfAnOlderAttemptAreRefused) {
  ReplicaSet r = Alone(SyncMode::kAsp, 1);
  ASSERT_THAT(r.BeginCut(0, 7), IsOk());
  const Ticket staged = r.Push(0, 0, {0, 0});
  r.Begin(0, 0, 2);
  EXPECT_EQ(r.Code(staged), PartCode::kStaleAttempt);
}

TEST(CutTest, DroppingEndsTheHold) {
  ReplicaSet r = Alone(SyncMode::kAsp, 1);
  ASSERT_THAT(r.BeginCut(0, 7), IsOk());
  const Ticket staged = r.Push(0, 0, {0, 0});
  const Ticket cut = r.TakeCut(0, 7, {{0, 0}});
  EXPECT_FALSE(r.Waits(cut));
  ASSERT_THAT(r.BeginCut(0, 8), IsOk());
  const Ticket again = r.Push(0, 0, {0, 1});
  r.Do(0,
       [&](Partition& p, Effects* effects) { p.DropCut(8, r.now(), effects); });
  EXPECT_TRUE(r.Acked(staged));
  EXPECT_TRUE(r.Acked(again));
  EXPECT_THAT(MoveCopy(r, 7), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(r.BeginCut(0, 6), StatusIs(absl::StatusCode::kAborted));
}

TEST(CutTest, WhoDoesNotLeadHasNone) {
  ReplicaSet r(OptionsFor(SyncMode::kAsp, 1), 2, {0, 1});
  r.Epoch(1, 0, {0, 1});
  EXPECT_THAT(r.BeginCut(1, 7), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(r.DoneOf(r.TakeCut(1, 7, {{0, 0}})).status,
              StatusIs(absl::StatusCode::kAborted));
}

// A partition that begins at a cut goes on as the one that was copied.
TEST(RestoreTest, GoesOnFromTheCut) {
  for (SyncMode mode : {SyncMode::kBsp, SyncMode::kSsp, SyncMode::kAsp}) {
    ReplicaSet r = Alone(mode, 2);
    for (uint32_t step = 0; step < 3; ++step) {
      r.Push(0, 0, {0, step}, 1);
      r.Push(0, 1, {0, step}, 10);
    }
    r.EndEpoch(0, 0, {0, 3});
    r.EndEpoch(0, 1, {0, 3});
    r.TakeCut(0, 7, {{1, 0}, {1, 0}});
    const auto copy = MoveCopy(r, 7);
    ASSERT_THAT(copy, IsOk());

    const PartitionOptions options = OptionsFor(mode, 2);
    auto store = *MakeRowStore(options.table, {0, kMaxKey});
    for (const CopiedBlock& block : copy->blocks) {
      ASSERT_THAT(store->RestoreRows(block.keys, block.cells), IsOk());
    }
    PartitionState state(options, std::move(store), copy->cut);
    EXPECT_EQ(state.records(), 0);
    EXPECT_EQ(state.rank(0).attempt, 0);
    EXPECT_EQ(state.rank(0).ledger, copy->cut.ranks[0].ledger);
    EXPECT_EQ(state.Cut(), copy->cut);
    EXPECT_EQ(state.ReadableAt(0, {1, 0}), PartitionState::Readable::kNow);
    float value = 0;
    state.ReadAt({1, 0}, {5}, absl::MakeSpan(&value, 1));
    EXPECT_EQ(value, 33);
    const auto fold = [&](LogRecord record) {
      state.Fold(1, std::make_shared<const LogRecord>(std::move(record)));
    };
    fold(AttemptRecord{{0, 5}});
    fold(EntryRecord{
        .rank = {0, 5}, .clock = {1, 0}, .keys = {5}, .values = {100}});
    fold(EntryRecord{
        .rank = {1, 5}, .clock = {1, 0}, .keys = {5}, .values = {1000}});
    state.ReadLatest({5}, absl::MakeSpan(&value, 1));
    EXPECT_EQ(value, 1133);
    EXPECT_EQ(state.slowest(), (Clock{1, 1}));
  }
}

// Ranks go on with any delays on two partitions, of which one is pulled by
// nobody; in the middle a cut is asked for. Each entry adds 1 to its rank's
// column, so that a copy's rows say which entries they have.
//
// `at_rest`: rank 0 stands still around the cut, as one that waits for a
// worker. If its last entry is in one partition only, there is none.
std::string RunCut(uint64_t seed, SyncMode mode, bool at_rest = false) {
  constexpr uint32_t kRanks = 2;
  TableSpec table = testing::SumTable();
  table.width = kRanks;
  uint64_t draws = 0;
  const auto below = [&](uint64_t n) {
    return ToBelow(Draw(seed, {draws++}), n);
  };
  std::vector<std::unique_ptr<Partition>> partitions;
  Effects effects;
  const absl::Duration now = absl::Hours(1);
  for (int p = 0; p < 2; ++p) {
    partitions.push_back(MakePartition(OptionsFor(mode, kRanks, table)));
    partitions[p]->Configure({.epoch = 1, .duty = ReplicaDuty::kLead}, now,
                             &effects);
    for (uint32_t r = 0; r < kRanks; ++r) {
      partitions[p]->BeginAttempt({r, 1}, 0, now, &effects);
    }
  }
  // A rank has one entry under way to both, and goes on when both have it.
  struct Rank {
    Clock clock;
    bool sent[2] = {false, false};
    bool acked[2] = {false, false};
  };
  Rank ranks[kRanks];
  const auto batches = [&](uint32_t r) { return 2 + (seed + r) % 3; };
  uint32_t begun = 0, taken = 0;
  std::vector<std::vector<Clock>> answers;
  std::vector<Clock> cut;
  std::optional<std::vector<Clock>> stood[2];
  const uint64_t start = below(60);
  bool dropped = false;
  for (uint64_t step = 0; step < (at_rest ? 1000 : 600); ++step) {
    const uint32_t p = below(2);
    effects = Effects();
    const bool waits = at_rest && step > start && step < 400;
    if (at_rest && step == 400 && ranks[0].acked[0] != ranks[0].acked[1]) {
      dropped = true;
      for (auto& partition : partitions) partition->DropCut(1, now, &effects);
    } else if (step > start && begun < 2 && below(4) == 0) {
      answers.push_back(
          *partitions[begun++]->BeginCut(1, at_rest, now, &effects));
      if (begun == 2) {
        cut = answers[0];
        for (uint32_t r = 0; r < kRanks; ++r) {
          cut[r] = std::max(cut[r], answers[1][r]);
        }
        if (mode == SyncMode::kBsp) {
          cut.assign(kRanks, at_rest
                                 ? *std::min_element(cut.begin(), cut.end())
                                 : *std::max_element(cut.begin(), cut.end()));
        }
      }
    } else if (begun == 2 && taken < 2 && below(4) == 0) {
      partitions[taken]->TakeCut(1, cut, at_rest, {}, 1000 + taken, now,
                                 &effects);
      ++taken;
    } else {
      const uint32_t r = waits ? 1 : below(kRanks);
      Rank& rank = ranks[r];
      if (rank.clock.epoch < 3 && !rank.sent[p]) {
        // Only partition 0 is pulled.
        bool ready = true;
        if (p == 0 || !rank.sent[0]) {
          ready = partitions[0]->state().ReadableAt(r, rank.clock) ==
                  PartitionState::Readable::kNow;
        }
        if (ready) {
          rank.sent[p] = true;
          PushMessage push;
          push.ticket = r * 10 + p;
          push.epoch = 1;
          push.rank = RankName{r, 1};
          push.clock = rank.clock;
          push.ends_epoch = rank.clock.step == batches(r);
          if (!push.ends_epoch) {
            push.keys = {5};
            push.values.assign(kRanks, 0.0f);
            push.values[r] = 1;
          }
          partitions[p]->Push(std::move(push), now, &effects);
        }
      }
    }
    for (const Answer& answer : effects.answers) {
      if (answer.outcome.code != PartCode::kOk) return "a push was refused";
      Rank& rank = ranks[answer.ticket / 10];
      rank.acked[answer.ticket % 10] = true;
      if (!rank.acked[0] || !rank.acked[1]) continue;
      const bool ended = rank.clock.step == batches(answer.ticket / 10);
      const Clock next = ended ? rank.clock.NextEpoch() : rank.clock.NextStep();
      rank = Rank{.clock = next};
    }
    for (const Done& done : effects.done) {
      if (dropped) continue;
      if (!done.status.ok()) return std::string(done.status.message());
      stood[done.ticket - 1000] = done.clocks;
    }
  }
  for (const Rank& rank : ranks) {
    if (rank.clock != Clock{3, 0}) return "a rank hangs";
  }
  if (dropped) return "";
  if (!stood[0].has_value() || !stood[1].has_value()) return "no copy";
  if (*stood[0] != *stood[1]) return "the partitions stand at two places";
  for (auto& partition : partitions) {
    const auto copy = partition->MoveCopy(1);
    if (!copy.ok()) return "no copy to move";
    for (uint32_t r = 0; r < kRanks; ++r) {
      const Clock at = copy->cut.ranks[r].clock;
      if (at != (*stood[0])[r]) return "a copy says another clock";
      float value = 0;
      if (!copy->blocks.empty()) value = copy->blocks[0].cells[r];
      if (value != at.epoch * batches(r) + at.step) {
        return "a copy has other entries than its clock says";
      }
    }
  }
  return "";
}

class RandomCut : public ::testing::TestWithParam<SyncMode> {};

TEST_P(RandomCut, IsOneVectorInEveryPartition) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    ASSERT_EQ(RunCut(seed, GetParam()), "") << "seed " << seed;
  }
}

TEST(RandomCutAtRest, IsOneVectorInEveryPartition) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    ASSERT_EQ(RunCut(seed, SyncMode::kBsp, true), "") << "seed " << seed;
  }
}

TEST_P(RandomCut, FindsPlantedBugs) {
#ifndef SERAPH_PLANTED_BUGS
  GTEST_SKIP() << "SKIPPED: this build has no planted bugs; use bazel test "
                  "--config=planted";
#else
  for (PlantedBug bug :
       {PlantedBug::kCutBetweenPartitions, PlantedBug::kCutWithoutStaging}) {
    planted_bug = bug;
    std::string found;
    for (uint64_t seed = 1; found.empty() && seed <= 500; ++seed) {
      found = RunCut(seed, GetParam());
    }
    planted_bug = PlantedBug::kNone;
    EXPECT_NE(found, "");
  }
#endif
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomCut,
                         ::testing::Values(SyncMode::kBsp, SyncMode::kSsp,
                                           SyncMode::kAsp),
                         [](const auto& info) {
                           return info.param == SyncMode::kBsp   ? "Bsp"
                                  : info.param == SyncMode::kSsp ? "Ssp"
                                                                 : "Asp";
                         });

}  // namespace
}  // namespace seraph
