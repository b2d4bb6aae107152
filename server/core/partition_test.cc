// What a partition takes, refuses and answers, apart from the modes.
#include "server/core/partition.h"

#include <cmath>
#include <limits>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/partition_harness.h"

namespace seraph {
namespace {

using ::seraph::testing::Harness;
using ::seraph::testing::IsOk;
using ::seraph::testing::MakePartition;
using ::seraph::testing::OptionsFor;
using ::seraph::testing::StatusIs;
using ::seraph::testing::SumTable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PushMessage Chunk(uint32_t rank, Clock clock, uint32_t chunk, uint32_t chunks,
                  std::vector<Key> keys, uint32_t attempt = 1) {
  PushMessage message;
  message.rank = RankName{rank, attempt};
  message.clock = clock;
  message.examples = 1;
  message.chunk = chunk;
  message.chunks = chunks;
  message.values.assign(keys.size(), 1.0f);
  message.keys = std::move(keys);
  return message;
}

TEST(PartitionTest, ARepeatIsAcknowledgedAndNotApplied) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {5}, {1})), PartCode::kOk);
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {5}, {1})), PartCode::kOk);
  EXPECT_THAT(p.Now({5}), ElementsAre(1));
}

TEST(PartitionTest, AGapIsRefusedAndNamesTheExpectedClock) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  p.Push(0, {0, 0}, {5}, {1});
  const Ticket gap = p.Push(0, {0, 2}, {5}, {1});
  EXPECT_EQ(p.Code(gap), PartCode::kExpectedClock);
  EXPECT_EQ(p.Of(gap).outcome.expected, (Clock{0, 1}));
  EXPECT_THAT(p.Now({5}), ElementsAre(1));
}

// An entry that never was, of an epoch that is over, is no repeat.
TEST(PartitionTest, AClockBehindTheEndOfAnEpochIsNotTakenForARepeat) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  p.Push(0, {0, 0}, {5}, {1});
  p.EndEpoch(0, {0, 1});
  const Ticket odd = p.Push(0, {0, 7}, {5}, {1});
  EXPECT_EQ(p.Code(odd), PartCode::kExpectedClock);
  EXPECT_EQ(p.Of(odd).outcome.expected, (Clock{1, 0}));
}

// The mark that a clock is finished is a part of the entry: there is no
// message that finishes a clock without the push that belongs to it.
TEST(PartitionTest, AClockIsFinishedByItsEntryAlone) {
  Harness p(OptionsFor(SyncMode::kBsp, 2));
  p.Push(1, {0, 0}, {5}, {1});
  const Ticket pull = p.Pull(1, {0, 1}, {5});
  EXPECT_TRUE(p.Waits(pull));
  p.Push(0, {0, 0}, {5}, {10});
  ASSERT_FALSE(p.Waits(pull));
  EXPECT_THAT(p.Values(pull), ElementsAre(11));
}

TEST(PartitionTest, ChunksBecomeOneEntryWhenTheLastIsThere) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  const Ticket third = p.Push(Chunk(0, {0, 0}, 2, 3, {30}));
  const Ticket first = p.Push(Chunk(0, {0, 0}, 0, 3, {10}));
  // Half of a push is never seen.
  EXPECT_THAT(p.Now({10, 20, 30}), ElementsAre(0, 0, 0));
  const Ticket again = p.Push(Chunk(0, {0, 0}, 0, 3, {10}));
  EXPECT_THAT(p.Now({10, 20, 30}), ElementsAre(0, 0, 0));
  // Chunks are no part of the log: none is acknowledged before their entry.
  for (Ticket chunk : {third, first, again}) EXPECT_TRUE(p.Waits(chunk));
  EXPECT_EQ(p.Code(p.Push(Chunk(0, {0, 0}, 1, 3, {20}))), PartCode::kOk);
  for (Ticket chunk : {third, first, again}) {
    EXPECT_EQ(p.Code(chunk), PartCode::kOk);
  }
  EXPECT_THAT(p.Now({10, 20, 30}), ElementsAre(1, 1, 1));
  // A chunk that is late by a whole entry is a repeat.
  EXPECT_EQ(p.Code(p.Push(Chunk(0, {0, 0}, 1, 3, {20}))), PartCode::kOk);
  EXPECT_THAT(p.Now({10, 20, 30}), ElementsAre(1, 1, 1));
}

// Attempt 2 cuts its push elsewhere: nothing of attempt 1's halves is left.
TEST(PartitionTest, ChunksOfAnOlderAttemptAreDropped) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  const Ticket old = p.Push(Chunk(0, {0, 0}, 0, 2, {1, 2}));
  ASSERT_THAT(p.Begin(0, 2), IsOk());
  EXPECT_EQ(p.Code(old), PartCode::kStaleAttempt);
  EXPECT_EQ(p.Code(p.Push(Chunk(0, {0, 0}, 1, 2, {3, 4}))),
            PartCode::kStaleAttempt);
  p.Push(Chunk(0, {0, 0}, 0, 2, {2}, 2));
  EXPECT_EQ(p.Code(p.Push(Chunk(0, {0, 0}, 1, 2, {4}, 2))), PartCode::kOk);
  EXPECT_THAT(p.Now({1, 2, 3, 4}), ElementsAre(0, 1, 0, 1));
}

TEST(PartitionTest, AnotherCutOfTheSameEntryIsRefused) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  p.Push(Chunk(0, {0, 0}, 0, 2, {1}));
  EXPECT_EQ(p.Code(p.Push(Chunk(0, {0, 0}, 1, 3, {2}))), PartCode::kInvalid);
  EXPECT_EQ(p.Code(p.Push(Chunk(0, {0, 0}, 2, 2, {2}))), PartCode::kInvalid);
}

TEST(PartitionTest, ChunksThatOverlapAreRefusedWhole) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  const Ticket first = p.Push(Chunk(0, {0, 0}, 0, 2, {1, 5}));
  EXPECT_EQ(p.Code(p.Push(Chunk(0, {0, 0}, 1, 2, {3}))), PartCode::kInvalid);
  EXPECT_EQ(p.Code(first), PartCode::kInvalid);
  EXPECT_THAT(p.Now({1, 3, 5}), ElementsAre(0, 0, 0));
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {1, 3, 5}, {1, 1, 1})), PartCode::kOk);
}

// A partition that nobody's batch touches stands still only if the ranks say
// nothing; an entry without keys moves it.
TEST(PartitionTest, AnEntryWithoutKeysFinishesTheClock) {
  Harness p(OptionsFor(SyncMode::kBsp, 1));
  const Ticket pull = p.Pull(0, {0, 1}, {5});
  EXPECT_TRUE(p.Waits(pull));
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {}, {})), PartCode::kOk);
  EXPECT_FALSE(p.Waits(pull));
}

TEST(PartitionTest, IsFreeWhileNothingWaits) {
  Harness asp(OptionsFor(SyncMode::kAsp, 2));
  EXPECT_TRUE(asp.partition().IsFree());
  asp.Push(0, {0, 0}, {5}, {1});
  EXPECT_TRUE(asp.partition().IsFree());
  asp.Pull(0, {0, 2}, {5});
  EXPECT_FALSE(asp.partition().IsFree()) << "a pull waits";
  asp.Push(0, {0, 1}, {}, {});
  EXPECT_TRUE(asp.partition().IsFree());

  Harness bsp(OptionsFor(SyncMode::kBsp, 2));
  EXPECT_TRUE(bsp.partition().IsFree());
  bsp.Push(0, {0, 0}, {5}, {1});
  EXPECT_FALSE(bsp.partition().IsFree()) << "an entry waits for rank 1's";
  bsp.Push(1, {0, 0}, {5}, {1});
  EXPECT_TRUE(bsp.partition().IsFree());

  Effects effects;
  ASSERT_TRUE(
      asp.partition().BeginCut(1, false, absl::ZeroDuration(), &effects).ok());
  EXPECT_FALSE(asp.partition().IsFree()) << "a cut is under way";
  asp.partition().DropCut(1, absl::ZeroDuration(), &effects);
  EXPECT_TRUE(asp.partition().IsFree());
  asp.partition().Configure({.epoch = 8, .duty = ReplicaDuty::kCollect},
                            absl::ZeroDuration(), &effects);
  EXPECT_FALSE(asp.partition().IsFree()) << "it does not lead";
}

TEST(PartitionTest, AttemptsFence) {
  Harness p(OptionsFor(SyncMode::kBsp, 2));
  const Ticket old_pull = p.Pull(0, {0, 1}, {5});
  ASSERT_TRUE(p.Waits(old_pull));
  ASSERT_THAT(p.Begin(0, 3), IsOk());
  EXPECT_EQ(p.Code(old_pull), PartCode::kStaleAttempt);
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {5}, {1}, 1)), PartCode::kStaleAttempt);
  EXPECT_EQ(p.Code(p.Pull(0, {0, 0}, {5}, 1)), PartCode::kStaleAttempt);
  // One that has not begun here may not speak either.
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {5}, {1}, 4)), PartCode::kUnknownAttempt);
  EXPECT_THAT(p.Begin(0, 2), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(p.Begin(0, 3), IsOk());
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {5}, {1}, 3)), PartCode::kOk);
  EXPECT_THAT(p.Begin(2, 1), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(p.Begin(0, 0), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PartitionTest, AnotherEpochIsRefused) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  for (uint64_t epoch : {6, 8}) {
    PushMessage push;
    push.rank = RankName{0, 1};
    push.epoch = epoch;
    EXPECT_EQ(p.Code(p.Push(push)), PartCode::kStaleEpoch);
    PullMessage pull;
    pull.epoch = epoch;
    EXPECT_EQ(p.Code(p.Pull(pull)), PartCode::kStaleEpoch);
  }
  EXPECT_EQ(p.partition().state().rank(0).next, (Clock{0, 0}));
}

struct BadPush {
  std::string name;
  std::vector<Key> keys;
  std::vector<float> values;
};

class PartitionRefuses : public ::testing::TestWithParam<BadPush> {};

TEST_P(PartitionRefuses, AndNothingChanged) {
  Harness p(OptionsFor(SyncMode::kAsp, 1), KeyRange{10, 20});
  const Ticket push = p.Push(0, {0, 0}, GetParam().keys, GetParam().values);
  EXPECT_EQ(p.Code(push), PartCode::kInvalid);
  EXPECT_FALSE(p.Of(push).outcome.message.empty());
  EXPECT_EQ(p.partition().state().store().rows(), 0);
  EXPECT_EQ(p.partition().state().records(), 1) << "the attempt alone";
  // The rank goes on with the same clock: a refusal leaves no gap.
  EXPECT_EQ(p.Code(p.Push(0, {0, 0}, {10, 20}, {1, 1})), PartCode::kOk);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

INSTANTIATE_TEST_SUITE_P(
    Push, PartitionRefuses,
    ::testing::Values(BadPush{"UnsortedKeys", {12, 11}, {1, 1}},
                      BadPush{"RepeatedKey", {12, 12}, {1, 1}},
                      BadPush{"KeyBelowTheRange", {9}, {1}},
                      BadPush{"KeyAboveTheRange", {21}, {1}},
                      BadPush{"TooFewValues", {11, 12}, {1}},
                      BadPush{"TooManyValues", {11}, {1, 1}},
                      BadPush{"NanInTheLastRow", {11, 12}, {1, kNan}},
                      BadPush{"Infinity", {11}, {-kInf}}),
    [](const auto& info) { return info.param.name; });

TEST(PartitionTest, TheMarkThatEndsAnEpochCarriesNoKeys) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  PushMessage message;
  message.rank = RankName{0, 1};
  message.ends_epoch = true;
  message.keys = {1};
  message.values = {1};
  EXPECT_EQ(p.Code(p.Push(message)), PartCode::kInvalid);
}

// Finite contributions may overflow in their sum, or in the state.
TEST(PartitionTest, AnUpdateThatIsNotFiniteFailsThePartitionByName) {
  Harness p(OptionsFor(SyncMode::kBsp, 2));
  const float huge = std::numeric_limits<float>::max();
  const Ticket waits = p.Pull(0, {0, 1}, {5});
  p.Push(0, {0, 0}, {5}, {huge});
  p.Push(1, {0, 0}, {5}, {huge});
  EXPECT_EQ(p.Code(waits), PartCode::kFailed);
  const std::string& why = p.Of(waits).outcome.message;
  EXPECT_THAT(why, HasSubstr("table 't'"));
  EXPECT_THAT(why, HasSubstr("key 5"));
  EXPECT_THAT(why, HasSubstr("(0, 0)"));
  EXPECT_EQ(p.Code(p.Push(0, {0, 1}, {5}, {1})), PartCode::kFailed);
}

TEST(PartitionTest, SkippedUpdatesLeaveTheRowAndAreCounted) {
  PartitionOptions options = OptionsFor(SyncMode::kBsp, 2);
  options.skip_non_finite = true;
  Harness p(options);
  const float huge = std::numeric_limits<float>::max();
  p.Push(0, {0, 0}, {4, 5}, {1, huge});
  p.Push(1, {0, 0}, {4, 5}, {2, huge});
  EXPECT_THAT(p.Now({4, 5}), ElementsAre(3, 0));
  EXPECT_EQ(p.partition().state().skipped_rows(), 1);
  EXPECT_EQ(p.Code(p.Push(0, {0, 1}, {5}, {1})), PartCode::kOk);
}

TEST(PartitionTest, APullCreatesNothing) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  EXPECT_THAT(p.Now({1, 2, 3}), ElementsAre(0, 0, 0));
  EXPECT_EQ(p.partition().state().store().rows(), 0);
  p.Push(0, {0, 0}, {2}, {0});
  EXPECT_EQ(p.partition().state().store().rows(), 1)
      << "a key exists once an entry touched it, whatever its value";
}

TEST(PartitionTest, SessionsNameTheirPushes) {
  Harness p(OptionsFor(SyncMode::kAsp, 1));
  PushMessage push;
  push.session = 99;
  push.keys = {5};
  push.values = {1};
  EXPECT_EQ(p.Code(p.Push(push)), PartCode::kInvalid) << "no number";
  push.number = 2;
  EXPECT_EQ(p.Code(p.Push(push)), PartCode::kInvalid) << "a gap";
  push.number = 1;
  EXPECT_EQ(p.Code(p.Push(push)), PartCode::kOk);
  EXPECT_EQ(p.Code(p.Push(push)), PartCode::kOk) << "a repeat";
  EXPECT_THAT(p.Now({5}), ElementsAre(1));
  push.number = 2;
  EXPECT_EQ(p.Code(p.Push(push)), PartCode::kOk);
  EXPECT_THAT(p.Now({5}), ElementsAre(2));
  push.session = 0;
  EXPECT_EQ(p.Code(p.Push(push)), PartCode::kInvalid) << "nameless";
}

TEST(PartitionTest, ABspTableTakesPushesFromItsRanksOnly) {
  Harness p(OptionsFor(SyncMode::kBsp, 1));
  PushMessage push;
  push.session = 99;
  push.number = 1;
  push.keys = {5};
  push.values = {1};
  EXPECT_EQ(p.Code(p.Push(push)), PartCode::kInvalid);
  EXPECT_EQ(p.partition().state().store().rows(), 0);
}

TEST(PartitionTest, APullAtAClockNeedsARank) {
  Harness p(OptionsFor(SyncMode::kBsp, 1));
  PullMessage pull;
  pull.clock = Clock{0, 0};
  EXPECT_EQ(p.Code(p.Pull(pull)), PartCode::kInvalid);
}

TEST(PartitionTest, ARepeatOfAPullWaitsInItsPlace) {
  Harness p(OptionsFor(SyncMode::kBsp, 2));
  PullMessage pull;
  pull.rank = RankName{0, 1};
  pull.clock = Clock{0, 1};
  pull.number = 3;
  pull.keys = {5};
  const auto send = [&](uint64_t number) {
    PullMessage message = pull;
    message.number = number;
    return p.Pull(std::move(message));
  };
  const Ticket first = send(3);
  const Ticket other = send(4);
  EXPECT_TRUE(p.Waits(first));
  const Ticket repeat = send(3);
  EXPECT_EQ(p.Code(first), PartCode::kReplaced);
  EXPECT_TRUE(p.Waits(repeat));
  EXPECT_TRUE(p.Waits(other));
  EXPECT_EQ(p.partition().parked(), 2u);
  const Ticket nameless = send(0);
  send(0);
  EXPECT_TRUE(p.Waits(nameless)) << "whoever gives no number";
  EXPECT_EQ(p.partition().parked(), 4u);
}

TEST(PartitionTest, ClosingAnswersWhatWaits) {
  Harness p(OptionsFor(SyncMode::kBsp, 2));
  const Ticket pull = p.Pull(0, {0, 1}, {5});
  const Ticket chunk = p.Push(Chunk(0, {0, 0}, 0, 2, {1, 5}));
  ASSERT_TRUE(p.Waits(pull));
  p.Do(
      [](Partition& partition, Effects* effects) { partition.Close(effects); });
  EXPECT_EQ(p.Code(pull), PartCode::kNotHere);
  EXPECT_EQ(p.Code(chunk), PartCode::kNotHere);
}

TEST(PartitionTest, RowsAreLoadedBeforeAnythingElseOnly) {
  const auto fresh = MakePartition(OptionsFor(SyncMode::kBsp, 1));
  Effects effects;
  const absl::Duration now;
  fresh->Configure({.epoch = 7, .duty = ReplicaDuty::kLead}, now, &effects);
  fresh->Load({9, 3}, {90, 30}, 1, now, &effects);
  fresh->Load({4}, {40}, 2, now, &effects);
  fresh->Load({5, 5}, {1, 1}, 3, now, &effects);
  fresh->Load({6}, {kNan}, 4, now, &effects);
  fresh->BeginAttempt({0, 1}, 5, now, &effects);
  fresh->Load({3}, {1}, 6, now, &effects);
  ASSERT_EQ(effects.done.size(), 6);
  EXPECT_THAT(effects.done[0].status, IsOk());
  EXPECT_THAT(effects.done[1].status, IsOk());
  EXPECT_THAT(effects.done[2].status,
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(effects.done[3].status,
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(effects.done[5].status,
              StatusIs(absl::StatusCode::kFailedPrecondition));
  fresh->Pull({.ticket = 1, .epoch = 7, .keys = {3, 4, 9}}, now, &effects);
  ASSERT_EQ(effects.answers.size(), 1);
  EXPECT_THAT(effects.answers[0].values, ElementsAre(30, 40, 90));
}

TEST(PartitionTest, TheLedgerKeepsTheLastRecordsAndEveryEpochsEnd) {
  Harness p(OptionsFor(SyncMode::kBsp, 1));
  const auto push = [&](Clock clock, bool ends) {
    PushMessage message;
    message.rank = RankName{0, 1};
    message.clock = clock;
    message.ends_epoch = ends;
    message.ledger.clock = clock;
    message.ledger.sums = {static_cast<double>(clock.step)};
    p.Push(message);
  };
  for (uint32_t step = 0; step < 4; ++step) push({0, step}, false);
  push({0, 4}, true);
  push({1, 0}, false);
  const RankProgress& rank = p.partition().state().rank(0);
  ASSERT_EQ(rank.ledger.size(), 2);
  EXPECT_EQ(rank.ledger[0].clock, (Clock{1, 0}));
  EXPECT_EQ(rank.ledger[1].clock, (Clock{0, 4}));
  ASSERT_EQ(rank.epoch_ends.size(), 1);
  EXPECT_THAT(rank.epoch_ends[0].sums, ElementsAre(4));
}

TEST(PartitionTest, ARepeatWithOtherBytesIsNoticed) {
  Harness p(OptionsFor(SyncMode::kBsp, 1));
  p.Push(0, {0, 0}, {5}, {1});
  p.Push(0, {0, 0}, {5}, {1});
  EXPECT_EQ(p.partition().differing_repeats(), 0);
  p.Push(0, {0, 0}, {5}, {2});
  EXPECT_EQ(p.partition().differing_repeats(), 1);
  EXPECT_THAT(p.Now({5}), ElementsAre(1));
}

}  // namespace
}  // namespace seraph
