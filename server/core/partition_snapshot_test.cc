#include "server/core/partition_snapshot.h"

#include <cstring>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/partition_harness.h"
#include "xxhash.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::OptionsFor;
using ::seraph::testing::StatusIs;
using ::seraph::testing::SumTable;

std::unique_ptr<RowStore> EmptyStore(const PartitionOptions& options) {
  return *MakeRowStore(options.table, {0, 99});
}

RecordPtr Record(LogRecord record) {
  return std::make_shared<const LogRecord>(std::move(record));
}

PartitionOptions SomeOptions(SyncMode mode, TableKind kind,
                             OptimizerKind optimizer) {
  TableSpec table = SumTable(kind);
  table.width = 2;
  table.optimizer.kind = optimizer;
  table.optimizer.learning_rate = 0.1;
  if (optimizer == OptimizerKind::kSgd) table.optimizer.l2 = 0.01;
  table.initializer = {.kind = InitializerKind::kUniform, .scale = 1.0};
  return OptionsFor(mode, 2, table);
}

// Records of every kind, of three epochs.
std::vector<std::pair<uint64_t, RecordPtr>> SomeLog(SyncMode mode) {
  std::vector<std::pair<uint64_t, RecordPtr>> log;
  const auto add = [&](uint64_t epoch, LogRecord record) {
    log.emplace_back(epoch, Record(std::move(record)));
  };
  add(1, LoadRecord{{3, 7}, {1, 2, 3, 4}});
  add(1, AttemptRecord{{0, 1}});
  add(1, AttemptRecord{{1, 1}});
  for (uint32_t step = 0; step < 4; ++step) {
    EntryRecord entry{.rank = {0, 1}, .clock = {0, step}, .examples = 2};
    entry.keys = {step, 50 - step, 60};
    entry.values = {1, 2, 3, 4, 5, 6};
    entry.ledger = {.clock = {0, step},
                    .position_epoch = 0,
                    .position_record = step * 10,
                    .sums = {0.5 * step, 2.0}};
    if (step % 2 == 1) {
      entry.calls = {
          {.function = "scale", .version = 1, .arguments = {0.5}},
          {.function = "axpy", .version = 1, .arguments = {2.0, int64_t{1}}},
          {.function = "copy",
           .version = 1,
           .column = 1,
           .arguments = {int64_t{0}, "t"}},
          {.function = "normal",
           .version = 1,
           .column = 1,
           .arguments = {0.0, 1.0, int64_t{7}}}};
    }
    add(4, entry);
    if (step == 3) break;  // bsp: rank 1's is missing.
    entry.rank = {1, 1};
    add(4, entry);
  }
  add(6, EntryRecord{.rank = {0, 1}, .clock = {0, 4}, .ends_epoch = true});
  if (mode != SyncMode::kBsp) {
    add(6, SessionRecord{
               .session = 99, .number = 1, .keys = {8}, .values = {1, 1}});
    add(6, CallRecord{.session = 99,
                      .number = 2,
                      .call = {.function = "fill",
                               .version = 1,
                               .column = 1,
                               .arguments = {0.5}}});
    add(6, CallRecord{.session = 99,
                      .number = 3,
                      .call = {.function = "users", .version = 7},
                      .has_effect = true,
                      .keys = {8, 9},
                      .values = {5, 6, 7, 8}});
  }
  add(6, AttemptRecord{{1, 2}});
  return log;
}

class SnapshotTest : public ::testing::TestWithParam<
                         std::tuple<SyncMode, TableKind, OptimizerKind>> {
 protected:
  PartitionOptions Options() const {
    return SomeOptions(std::get<0>(GetParam()), std::get<1>(GetParam()),
                       std::get<2>(GetParam()));
  }
};

// At every position: the state again, and it goes on with the same bytes.
TEST_P(SnapshotTest, IsTheStateAtItsPosition) {
  const PartitionOptions options = Options();
  const auto log = SomeLog(options.sync.spec.mode);
  for (size_t at = 0; at <= log.size(); ++at) {
    PartitionState state(options, EmptyStore(options));
    for (size_t i = 0; i < at; ++i) state.Fold(log[i].first, log[i].second);
    const Snapshot snapshot = EncodeSnapshot(state);
    EXPECT_EQ(snapshot.position, state.last());
    auto copy = DecodeSnapshot(snapshot.bytes, options, EmptyStore(options));
    ASSERT_THAT(copy, IsOk()) << at;
    EXPECT_EQ((*copy)->last(), state.last());
    EXPECT_EQ((*copy)->Cut(), state.Cut());
    EXPECT_EQ(EncodeSnapshot(**copy).bytes, snapshot.bytes);
    for (size_t i = at; i < log.size(); ++i) {
      state.Fold(log[i].first, log[i].second);
      (*copy)->Fold(log[i].first, log[i].second);
    }
    EXPECT_EQ(EncodeSnapshot(**copy).bytes, EncodeSnapshot(state).bytes) << at;
    for (uint64_t number = 1; number <= log.size(); ++number) {
      EXPECT_TRUE((*copy)->Contains({log[number - 1].first, number}));
      EXPECT_FALSE((*copy)->Contains({log[number - 1].first + 1, number}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SnapshotTest,
    ::testing::Combine(
        ::testing::Values(SyncMode::kBsp, SyncMode::kSsp, SyncMode::kAsp),
        ::testing::Values(TableKind::kDense, TableKind::kSparse),
        ::testing::Values(OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                          OptimizerKind::kAdam, OptimizerKind::kFtrl)));

// Rows that came about in another order lie elsewhere in memory.
TEST(SnapshotBytesTest, DoNotDependOnTheOrderOfCreation) {
  const PartitionOptions options =
      SomeOptions(SyncMode::kAsp, TableKind::kSparse, OptimizerKind::kSgd);
  const auto log = SomeLog(SyncMode::kAsp);
  PartitionState grown(options, EmptyStore(options));
  for (const auto& [epoch, record] : log) grown.Fold(epoch, record);
  // The copy's rows were restored in key order.
  auto copy =
      DecodeSnapshot(EncodeSnapshot(grown).bytes, options, EmptyStore(options));
  ASSERT_THAT(copy, IsOk());
  EXPECT_EQ(EncodeSnapshot(**copy).bytes, EncodeSnapshot(grown).bytes);
}

TEST(SnapshotBytesTest, DamageIsNoticed) {
  const PartitionOptions options =
      SomeOptions(SyncMode::kBsp, TableKind::kSparse, OptimizerKind::kAdam);
  PartitionState state(options, EmptyStore(options));
  for (const auto& [epoch, record] : SomeLog(SyncMode::kBsp)) {
    state.Fold(epoch, record);
  }
  const std::string bytes = EncodeSnapshot(state).bytes;
  const auto decode = [&](const std::string& damaged) {
    return DecodeSnapshot(damaged, options, EmptyStore(options));
  };
  ASSERT_THAT(decode(bytes), IsOk());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 0x10;
    ASSERT_THAT(decode(damaged), StatusIs(absl::StatusCode::kDataLoss)) << i;
    ASSERT_THAT(decode(bytes.substr(0, i)),
                StatusIs(absl::StatusCode::kDataLoss))
        << i;
  }
  EXPECT_THAT(decode(bytes + "x"), StatusIs(absl::StatusCode::kDataLoss));
  // Of another table, other ranks, or another range.
  PartitionOptions other = options;
  other.ranks = 3;
  EXPECT_THAT(DecodeSnapshot(bytes, other, EmptyStore(other)),
              StatusIs(absl::StatusCode::kDataLoss));
  other = options;
  other.table.optimizer.kind = OptimizerKind::kSgd;
  EXPECT_THAT(DecodeSnapshot(bytes, other, EmptyStore(other)),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(
      DecodeSnapshot(bytes, options, *MakeRowStore(options.table, {0, 9})),
      StatusIs(absl::StatusCode::kDataLoss));
}

// Somebody made a checksum for it: nothing may be taken for granted.
TEST(SnapshotBytesTest, DamageWithARightChecksumBreaksNothing) {
  const PartitionOptions options =
      SomeOptions(SyncMode::kBsp, TableKind::kSparse, OptimizerKind::kSgd);
  const auto log = SomeLog(SyncMode::kBsp);
  PartitionState state(options, EmptyStore(options));
  for (const auto& [epoch, record] : log) state.Fold(epoch, record);
  const std::string bytes = EncodeSnapshot(state).bytes;
  int refused = 0, taken = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    const size_t end = damaged.size() - sizeof(uint64_t);
    const size_t place = ToBelow(Draw(1, {i, 0}), end);
    damaged[place] = static_cast<char>(Draw(1, {i, 1}));
    const uint64_t sum = XXH3_64bits(damaged.data(), end);
    std::memcpy(damaged.data() + end, &sum, sizeof(sum));
    const auto copy = DecodeSnapshot(damaged, options, EmptyStore(options));
    if (!copy.ok()) {
      ASSERT_THAT(copy, StatusIs(absl::StatusCode::kDataLoss));
      ++refused;
    } else {
      EncodeSnapshot(**copy);
      ++taken;  // A value, or a clock, that could be one.
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace seraph
