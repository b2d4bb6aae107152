// Functions at a partition: their place in its log and among its clocks.
#include <limits>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/replica_harness.h"
#include "server/functions/function_registry.h"

namespace seraph {
namespace {

using ::seraph::testing::Harness;
using ::seraph::testing::IsOk;
using ::seraph::testing::OptionsFor;
using ::seraph::testing::ReplicaSet;
using ::seraph::testing::SumTable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Floats = std::vector<float>;

FunctionCall Scale(double factor) {
  return {.function = "scale", .arguments = {factor}};
}
FunctionCall Fill(double value) {
  return {.function = "fill", .arguments = {value}};
}

PushMessage Entry(uint32_t rank, Clock clock, std::vector<Key> keys,
                  Floats values, std::vector<FunctionCall> calls) {
  PushMessage message;
  message.rank = RankName{rank, 1};
  message.clock = clock;
  message.examples = 1;
  message.keys = std::move(keys);
  message.values = std::move(values);
  message.calls = std::move(calls);
  return message;
}

std::shared_ptr<const PlannedCall> Planned(const FunctionCall& call) {
  return std::make_shared<const PlannedCall>(
      *FunctionRegistry::BuiltIns().Plan(call, 1));
}

PushMessage SessionCall(uint64_t number,
                        std::shared_ptr<const PlannedCall> call) {
  PushMessage message;
  message.session = 99;
  message.number = number;
  message.call = std::move(call);
  return message;
}

PullMessage Reading(const FunctionCall& call) {
  PullMessage message;
  message.call = Planned(call);
  return message;
}

PullMessage ReadingAt(uint32_t rank, Clock clock, const FunctionCall& call) {
  PullMessage message = Reading(call);
  message.rank = RankName{rank, 1};
  message.clock = clock;
  return message;
}

double Total(const Answer& answer) {
  double sum = 0;
  for (const BlockSum& block : answer.result->sums) sum += block.sum;
  return sum;
}

// Writes another value at each run, whoever runs it.
class Counting final : public Function {
 public:
  explicit Counting(int* runs)
      : Function({.name = "counting", .version = 7, .writes = true},
                 /*built_in=*/false),
        runs_(runs) {}

  absl::Status Write(const RowsAt& rows, const FunctionInput&,
                     WriteRows write) const override {
    ++*runs_;
    rows.ForEach(
        [&](uint32_t, absl::Span<const Key> keys, absl::Span<float> values) {
          for (float& value : values) value = 100.0f * *runs_;
          write(keys, values);
        });
    if (*runs_ == 1) write({1000}, {-1.0f});  // And a new row.
    return absl::OkStatus();
  }

 private:
  int* const runs_;
};

// Gives what no partition may take.
class Wrong final : public Function {
 public:
  Wrong(std::vector<Key> keys, Floats values, absl::Status status)
      : Function({.name = "wrong", .writes = true}, /*built_in=*/false),
        keys_(std::move(keys)),
        values_(std::move(values)),
        status_(std::move(status)) {}

  absl::Status Write(const RowsAt&, const FunctionInput&,
                     WriteRows write) const override {
    write(keys_, values_);
    return status_;
  }

 private:
  const std::vector<Key> keys_;
  const Floats values_;
  const absl::Status status_;
};

std::shared_ptr<const PlannedCall> PlannedOf(
    std::shared_ptr<const Function> function) {
  auto planned = std::make_shared<PlannedCall>();
  planned->call.function = function->signature().name;
  planned->call.version = function->signature().version;
  planned->function = std::move(function);
  return planned;
}

// Writing: a rank's
// ------------------------------------------------------------

TEST(EntryCallsTest, RunAfterTheEntrysStepInTheirOrder) {
  for (const SyncMode mode : {SyncMode::kAsp, SyncMode::kSsp}) {
    Harness h(OptionsFor(mode, 1));
    h.Push(Entry(0, {0, 0}, {5, 6}, {1, 2}, {}));
    h.Push(Entry(
        0, {0, 1}, {5}, {1},
        {Scale(10), {.function = "axpy", .arguments = {1.0, int64_t{0}}}}));
    EXPECT_THAT(h.Now({5, 6}), ElementsAre(40, 40));
  }
}

// Before or after the optimizer step? After it, by rank and order of call,
// however the entries come.
TEST(EntryCallsTest, UnderBspRunAfterTheClocksStepByRank) {
  for (const bool reversed : {false, true}) {
    Harness h(OptionsFor(SyncMode::kBsp, 2));
    const PushMessage zero = Entry(0, {0, 0}, {5, 6}, {1, 2}, {Fill(1)});
    const PushMessage one = Entry(1, {0, 0}, {5}, {1}, {Scale(3), Scale(2)});
    h.Push(reversed ? one : zero);
    EXPECT_THAT(h.Now({5, 6}), ElementsAre(0, 0));
    h.Push(reversed ? zero : one);
    EXPECT_THAT(h.Now({5, 6}), ElementsAre(6, 6));
  }
}

// Each rank's call is its own: what all ranks call happens as many times.
TEST(EntryCallsTest, HappenOnceForEachRankThatCalls) {
  Harness h(OptionsFor(SyncMode::kBsp, 2));
  h.Push(Entry(0, {0, 0}, {5}, {8}, {Scale(0.5)}));
  h.Push(Entry(1, {0, 0}, {}, {}, {Scale(0.5)}));
  EXPECT_THAT(h.Now({5}), ElementsAre(2));
  h.Push(Entry(0, {0, 1}, {}, {}, {Scale(0.5)}));
  h.Push(Entry(1, {0, 1}, {}, {}, {}));
  EXPECT_THAT(h.Now({5}), ElementsAre(1));
}

TEST(EntryCallsTest, AreTakenOnceHoweverOftenTheEntryComes) {
  Harness h(OptionsFor(SyncMode::kAsp, 1));
  const PushMessage entry = Entry(0, {0, 0}, {5}, {3}, {Scale(2)});
  EXPECT_EQ(h.Code(h.Push(entry)), PartCode::kOk);
  EXPECT_EQ(h.Code(h.Push(entry)), PartCode::kOk);
  EXPECT_THAT(h.Now({5}), ElementsAre(6));
}

TEST(EntryCallsTest, ComeWithAnyChunkAndRunOnce) {
  Harness h(OptionsFor(SyncMode::kAsp, 1));
  for (const uint32_t chunk : {1, 0}) {
    PushMessage message = Entry(0, {0, 0}, {5 + chunk}, {3}, {Scale(2)});
    message.chunk = chunk;
    message.chunks = 2;
    h.Push(message);
  }
  EXPECT_THAT(h.Now({5, 6}), ElementsAre(6, 6));
}

// A rank that runs the clock again reads what was there before the clock: also
// of rows that only a function wrote.
TEST(EntryCallsTest, UnderBspTheClockBeforeIsKept) {
  Harness h(OptionsFor(SyncMode::kBsp, 1));
  h.Push(Entry(0, {0, 0}, {5, 7}, {1, 2}, {}));
  h.Push(Entry(0, {0, 1}, {6, 7}, {10, 20}, {Scale(2), Scale(5)}));
  EXPECT_THAT(h.Now({5, 6, 7}), ElementsAre(10, 100, 220));
  EXPECT_THAT(h.Values(h.Pull(0, {0, 1}, {5, 6, 7})), ElementsAre(1, 0, 2));
  EXPECT_THAT(h.Values(h.Pull(0, {0, 1}, {6, 7})), ElementsAre(0, 2));
  const Ticket sum = h.Pull(ReadingAt(0, {0, 1}, {.function = "sum"}));
  EXPECT_EQ(Total(h.Of(sum)), 3);
  const Ticket count = h.Pull(ReadingAt(0, {0, 1}, {.function = "count"}));
  EXPECT_EQ(h.Of(count).result->count, 2) << "key 6 was not there";
  EXPECT_EQ(h.Of(h.Pull(Reading({.function = "count"}))).result->count, 3);
}

TEST(EntryCallsTest, ABadOneRefusesTheEntryWholeAndNamesTheFunction) {
  const std::vector<std::pair<FunctionCall, std::string>> bad = {
      {{.function = "no_such"}, "no function 'no_such'"},
      {{.function = "scale", .version = 9, .arguments = {1.0}}, "version 9"},
      {{.function = "scale"}, "'scale' got 0 arguments"},
      {{.function = "scale", .column = 1, .arguments = {1.0}}, "column 1"},
      {{.function = "sum"}, "it reads"},
      {{.function = "copy", .arguments = {int64_t{3}}}, "columns 0 to 0"},
      {{.function = "copy", .arguments = {int64_t{0}, "other"}},
       "over two tables"},
  };
  Harness h(OptionsFor(SyncMode::kAsp, 1));
  for (const auto& [call, text] : bad) {
    const Ticket ticket = h.Push(Entry(0, {0, 0}, {5}, {1}, {Scale(2), call}));
    EXPECT_EQ(h.Code(ticket), PartCode::kInvalid) << text;
    EXPECT_THAT(h.Of(ticket).outcome.message, HasSubstr(text));
    EXPECT_THAT(h.Of(ticket).outcome.message, HasSubstr(call.function));
  }
  PushMessage end = Entry(0, {0, 0}, {}, {}, {Scale(2)});
  end.ends_epoch = true;
  EXPECT_EQ(h.Code(h.Push(end)), PartCode::kInvalid);
  EXPECT_THAT(h.Now({5}), ElementsAre(0));
  h.Push(Entry(0, {0, 0}, {5}, {1}, {Scale(2)}));
  EXPECT_THAT(h.Now({5}), ElementsAre(2));
}

TEST(EntryCallsTest, AValueThatIsNotFiniteFailsThePartitionByName) {
  Harness h(OptionsFor(SyncMode::kBsp, 1));
  h.Push(Entry(0, {0, 0}, {5}, {1}, {Scale(1e300)}));
  const std::string failure = h.partition().failure();
  for (const char* text : {"table 't'", "key 5", "'scale'", "rank 0"}) {
    EXPECT_THAT(failure, HasSubstr(text));
  }
  PartitionOptions options = OptionsFor(SyncMode::kBsp, 1);
  options.skip_non_finite = true;
  Harness skips(options);
  skips.Push(Entry(0, {0, 0}, {5}, {1}, {Scale(1e300)}));
  EXPECT_EQ(skips.partition().failure(), "");
  EXPECT_THAT(skips.Now({5}), ElementsAre(1));
  EXPECT_EQ(skips.partition().state().skipped_rows(), 1);
}

// Writing: a session's
// ---------------------------------------------------------

TEST(SessionCallsTest, AreNumberedWithPushesAndTakenOnce) {
  Harness h(OptionsFor(SyncMode::kAsp, 1));
  PushMessage push;
  push.session = 99;
  push.number = 1;
  push.keys = {5};
  push.values = {3};
  h.Push(push);
  EXPECT_EQ(h.Code(h.Push(SessionCall(2, Planned(Scale(2))))), PartCode::kOk);
  EXPECT_EQ(h.Code(h.Push(SessionCall(2, Planned(Scale(2))))), PartCode::kOk);
  EXPECT_THAT(h.Now({5}), ElementsAre(6));
  EXPECT_EQ(h.Code(h.Push(SessionCall(4, Planned(Scale(2))))),
            PartCode::kInvalid);
  EXPECT_EQ(h.Code(h.Push(SessionCall(3, Planned(Scale(2))))), PartCode::kOk);
  EXPECT_THAT(h.Now({5}), ElementsAre(12));
}

TEST(SessionCallsTest, AreNotForBsp) {
  Harness h(OptionsFor(SyncMode::kBsp, 1));
  EXPECT_EQ(h.Code(h.Push(SessionCall(1, Planned(Scale(2))))),
            PartCode::kInvalid);
}

TEST(SessionCallsTest, WhatCannotBeWrittenChangesNothingAndTakesNoNumber) {
  Harness h(OptionsFor(SyncMode::kAsp, 1), KeyRange{0, 99});
  h.Push(Entry(0, {0, 0}, {5}, {3}, {}));
  const uint64_t records = h.partition().state().records();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<std::shared_ptr<const PlannedCall>, std::string>>
      bad = {
          {Planned(Scale(1e300)), "not finite"},
          {PlannedOf(std::make_shared<Wrong>(std::vector<Key>{5}, Floats{nan},
                                             absl::OkStatus())),
           "not finite"},
          {PlannedOf(std::make_shared<Wrong>(std::vector<Key>{7, 5},
                                             Floats{1, 1}, absl::OkStatus())),
           "strictly increase"},
          {PlannedOf(std::make_shared<Wrong>(std::vector<Key>{100}, Floats{1},
                                             absl::OkStatus())),
           "not in the range"},
          {PlannedOf(std::make_shared<Wrong>(std::vector<Key>{5}, Floats{1, 1},
                                             absl::OkStatus())),
           "2 values for 1 keys"},
          {PlannedOf(std::make_shared<Wrong>(
               std::vector<Key>{5}, Floats{1},
               absl::InvalidArgumentError("it says no"))),
           "it says no"},
      };
  for (const auto& [call, text] : bad) {
    const Ticket ticket = h.Push(SessionCall(1, call));
    EXPECT_EQ(h.Code(ticket), PartCode::kFunctionFailed) << text;
    EXPECT_THAT(h.Of(ticket).outcome.message, HasSubstr(text));
  }
  EXPECT_EQ(h.partition().state().records(), records);
  EXPECT_EQ(h.partition().failure(), "");
  EXPECT_EQ(h.Code(h.Push(SessionCall(1, Planned(Scale(2))))), PartCode::kOk);
  EXPECT_THAT(h.Now({5}), ElementsAre(6));
}

// Replicas
// ---------------------------------------------------------------------

ReplicaSet Members(SyncMode mode, uint32_t ranks) {
  ReplicaSet set(OptionsFor(mode, ranks), 2, {0, 1});
  set.Epoch(1, 0, {0, 1});
  for (uint32_t rank = 0; rank < ranks; ++rank) set.Begin(0, rank);
  set.Flow();
  set.Pass(ReplicaSet::kLease / 2);
  return set;
}

// A user's function uses time, or is another one on the backup: what it wrote
// is logged, computed once.
TEST(ReplicatedCallsTest, ALibrarysFunctionRunsOnceAndItsRowsAreLogged) {
  ReplicaSet r = Members(SyncMode::kAsp, 1);
  r.Push(0, 0, {0, 0});
  int runs = 0;
  const auto call = PlannedOf(std::make_shared<Counting>(&runs));
  const Ticket first = r.Push(0, SessionCall(1, call));
  EXPECT_TRUE(r.Waits(first)) << "the backup has not confirmed it";
  r.Flow();
  EXPECT_TRUE(r.Acked(first));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(r.ValueAt(1), 100);
  EXPECT_EQ(r.at(1).state().store().rows(), 2);
  EXPECT_EQ(r.SnapshotOf(0), r.SnapshotOf(1));
  // A repeat, also at the next primary, is not run.
  r.Epoch(2, -1, {1});
  r.Epoch(3, 1, {1});
  r.Pass(2 * ReplicaSet::kLease);
  EXPECT_TRUE(r.Acked(r.Push(1, SessionCall(1, call))));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(r.Acked(r.Push(1, SessionCall(2, call))));
  EXPECT_EQ(r.ValueAt(1), 200);
}

// axpy from another table, whose log is somewhere else on the backup: what it
// gave is logged.
TEST(ReplicatedCallsTest, AnotherTablesColumnIsReadOnce) {
  ReplicaSet r = Members(SyncMode::kAsp, 1);
  r.Push(0, 0, {0, 0}, /*value=*/3);
  auto planned = std::make_shared<PlannedCall>(
      *Planned({.function = "axpy", .arguments = {2.0, int64_t{0}, "other"}}));
  auto other = std::make_shared<ColumnCopy>();
  other->table = SumTable();
  other->keys = {5, 9};
  other->values = {10, 20};
  planned->other = other;
  r.Push(0, SessionCall(1, planned));
  r.Flow();
  EXPECT_EQ(r.ValueAt(0), 23);
  EXPECT_EQ(r.ValueAt(1), 23);
  EXPECT_EQ(r.SnapshotOf(0), r.SnapshotOf(1));
}

TEST(ReplicatedCallsTest, EntriesWithCallsHaveTheSameBytesEverywhere) {
  for (const SyncMode mode : {SyncMode::kBsp, SyncMode::kAsp}) {
    ReplicaSet r = Members(mode, 2);
    for (uint32_t step = 0; step < 3; ++step) {
      for (uint32_t rank = 0; rank < 2; ++rank) {
        r.Push(0, Entry(rank, {0, step}, {5, 6 + rank, 20 + step},
                        {0.1f, 0.2f, 0.3f},
                        {Scale(0.7),
                         {.function = "normal",
                          .arguments = {0.0, 0.1, int64_t{step}}},
                         Scale(1.0 / 3)}));
      }
    }
    r.Flow();
    EXPECT_EQ(r.at(1).state().records(), 8);
    EXPECT_EQ(r.SnapshotOf(0), r.SnapshotOf(1));
  }
}

// A server with an older build must not go on with other bytes.
TEST(ReplicatedCallsTest, AReplicaThatLacksTheVersionConfirmsNothing) {
  ReplicaSet r = Members(SyncMode::kAsp, 1);
  const Ticket push = r.Push(0, Entry(0, {0, 0}, {5}, {1}, {Scale(2)}));
  for (PeerMessage& message : r.messages) {
    auto* forward = std::get_if<ForwardRecord>(&message.body);
    if (forward == nullptr) continue;
    EntryRecord entry = std::get<EntryRecord>(*forward->record);
    ASSERT_EQ(entry.calls.size(), 1);
    EXPECT_EQ(entry.calls[0].version, 1) << "a log names versions";
    entry.calls[0].version = 99;
    forward->record = std::make_shared<const LogRecord>(entry);
  }
  r.Flow();
  EXPECT_TRUE(r.Waits(push));
  EXPECT_EQ(r.at(1).state().records(), 1);
}

// Reading
// ----------------------------------------------------------------------

TEST(ReadingTest, WaitsForItsClockAsAPullDoes) {
  Harness h(OptionsFor(SyncMode::kBsp, 2));
  const FunctionCall sum = {.function = "sum"};
  h.Push(Entry(0, {0, 0}, {5}, {1}, {}));
  const Ticket waits = h.Pull(ReadingAt(0, {0, 1}, sum));
  EXPECT_TRUE(h.Waits(waits));
  EXPECT_EQ(Total(h.Of(h.Pull(ReadingAt(1, {0, 0}, sum)))), 0);
  h.Push(Entry(1, {0, 0}, {6}, {2}, {}));
  EXPECT_EQ(Total(h.Of(waits)), 3);
  EXPECT_EQ(Total(h.Of(h.Pull(ReadingAt(1, {0, 0}, sum)))), 0)
      << "the clock before is kept";
  EXPECT_EQ(Total(h.Of(h.Pull(Reading(sum)))), 3);
  // A newer attempt ends what waits.
  const Ticket stale = h.Pull(ReadingAt(0, {0, 2}, sum));
  EXPECT_TRUE(h.Waits(stale));
  ASSERT_THAT(h.Begin(0, 2), IsOk());
  EXPECT_EQ(h.Code(stale), PartCode::kStaleAttempt);
}

TEST(ReadingTest, ARepeatWaitsInItsPlace) {
  Harness h(OptionsFor(SyncMode::kBsp, 2));
  PullMessage message = ReadingAt(0, {0, 1}, {.function = "sum"});
  message.number = 7;
  const Ticket first = h.Pull(message);
  const Ticket second = h.Pull(message);
  EXPECT_EQ(h.Code(first), PartCode::kReplaced);
  EXPECT_TRUE(h.Waits(second));
}

TEST(ReadingTest, LeavesWhenAllThatItShowsIsConfirmed) {
  ReplicaSet r = Members(SyncMode::kAsp, 1);
  r.Push(0, 0, {0, 0});
  const Ticket sum =
      r.Order(0, [&](Partition& p, Ticket ticket, Effects* effects) {
        PullMessage message = Reading({.function = "sum"});
        message.ticket = ticket;
        message.epoch = p.epoch();
        p.Pull(std::move(message), r.now(), effects);
      });
  EXPECT_TRUE(r.Waits(sum));
  r.Flow();
  EXPECT_EQ(Total(r.Of(sum)), 1);
}

TEST(ReadingTest, ChangesNothing) {
  PartitionOptions options = OptionsFor(SyncMode::kAsp, 1);
  options.table.optimizer = {.kind = OptimizerKind::kSgd, .l2 = 0.1};
  Harness h(options);
  h.Push(Entry(0, {0, 0}, {5}, {1}, {}));
  h.Push(Entry(0, {0, 1}, {6}, {1}, {}));
  const std::string before = EncodeSnapshot(h.partition().state()).bytes;
  for (const char* name : {"sum", "norm", "count", "nnz", "min", "max"}) {
    EXPECT_EQ(h.Code(h.Pull(Reading({.function = name}))), PartCode::kOk);
  }
  EXPECT_EQ(EncodeSnapshot(h.partition().state()).bytes, before);
}

}  // namespace
}  // namespace seraph
