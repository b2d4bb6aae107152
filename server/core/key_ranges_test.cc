// What comes with a range in place of its keys does what the keys do, to the
// bit: in answers, in the log, in snapshots and in other replicas.

#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "gtest/gtest.h"
#include "server/core/partition_harness.h"
#include "server/core/partition_snapshot.h"
#include "server/update/optimizer_variants.h"

namespace seraph {
namespace {

using testing::Harness;
using testing::OptionsFor;

constexpr uint64_t kSeed = 20;
constexpr uint32_t kRanks = 2;
constexpr KeyRange kRange = {1000, 1999};

std::vector<Key> Written(Key first, size_t n) {
  std::vector<Key> keys(n);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

// Once as a range, once written out.
KeySet Told(bool as_range, Key first, size_t n) {
  return as_range ? KeySet::Range(first, n) : KeySet(Written(first, n));
}

PartitionOptions Options(const OptimizerSpec& optimizer, TableKind kind,
                         SyncMode mode, uint32_t width) {
  TableSpec table;
  table.name = "t";
  table.kind = kind;
  table.keys = kind == TableKind::kDense ? 2000 : 0;
  table.width = width;
  table.seed = kSeed;
  table.initializer = {.kind = InitializerKind::kNormal, .scale = 0.1};
  table.optimizer = optimizer;
  PartitionOptions options = OptionsFor(mode, kRanks, table);
  options.sync.spec.staleness = 100;
  options.skip_non_finite = true;
  return options;
}

// The range that a rank pushes in a clock: now all the partition, now the same
// as the other rank's, now another one, now none.
struct Range {
  Key first = kRange.first;
  size_t n = 0;
};
Range PushedBy(uint32_t rank, uint32_t step) {
  switch (step % 4) {
    case 0:
      return {kRange.first, 1000};
    case 1:
      return {kRange.first + 7, 300};
    case 2:
      return {kRange.first + 150 * rank,
              1 + ToBelow(Draw(kSeed, {rank, step}), 400)};
    default:
      return rank == 0 ? Range{} : Range{kRange.last, 1};
  }
}

std::vector<float> ValuesOf(uint32_t rank, uint32_t step, size_t n) {
  std::vector<float> values(n);
  for (uint64_t i = 0; i < n; ++i) {
    values[i] = ToNormal(Draw(kSeed, {rank, step, i, 1}),
                         Draw(kSeed, {rank, step, i, 2}));
  }
  return values;
}

// One partition is told ranges, the other the same keys.
class Pair {
 public:
  explicit Pair(const PartitionOptions& options)
      : width_(options.table.width),
        ranges_(options, kRange),
        lists_(options, kRange) {}

  void Push(uint32_t rank, uint32_t step, uint32_t chunks) {
    const Range range = PushedBy(rank, step);
    const std::vector<float> values = ValuesOf(rank, step, range.n * width_);
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const size_t begin = range.n * chunk / chunks;
      const size_t end = range.n * (chunk + 1) / chunks;
      for (const bool as_range : {true, false}) {
        PushMessage message;
        message.rank = RankName{rank, 1};
        message.clock = {0, step};
        message.examples = 3 + rank;
        message.chunk = chunk;
        message.chunks = chunks;
        message.keys = Told(as_range, range.first + begin, end - begin);
        message.values = std::vector<float>(values.begin() + begin * width_,
                                            values.begin() + end * width_);
        // As the decoder of requests does.
        if (as_range) message.known_finite = message.values.size();
        Of(as_range).Push(std::move(message));
      }
    }
  }

  void ExpectSamePull(uint32_t rank, uint32_t step, Range range) {
    std::vector<float> values[2];
    for (const bool as_range : {true, false}) {
      PullMessage message;
      message.rank = RankName{rank, 1};
      message.clock = {0, step};
      message.keys = Told(as_range, range.first, range.n);
      const Ticket ticket = Of(as_range).Pull(std::move(message));
      ASSERT_EQ(Of(as_range).Code(ticket), PartCode::kOk)
          << Of(as_range).Of(ticket).outcome.message;
      values[as_range] = Of(as_range).Values(ticket);
    }
    ASSERT_EQ(values[0].size(), range.n * width_);
    ASSERT_EQ(values[1].size(), values[0].size());
    EXPECT_EQ(std::memcmp(values[0].data(), values[1].data(),
                          values[0].size() * sizeof(float)),
              0);
  }

  void ExpectSameState() {
    const std::string ranges =
        EncodeSnapshot(ranges_.partition().state()).bytes;
    EXPECT_EQ(ranges, EncodeSnapshot(lists_.partition().state()).bytes);
    EXPECT_EQ(ranges_.partition().differing_repeats(), 0u);
    EXPECT_EQ(lists_.partition().differing_repeats(), 0u);
  }

  Harness& ranges() { return ranges_; }
  Harness& lists() { return lists_; }

 private:
  Harness& Of(bool as_range) { return as_range ? ranges_ : lists_; }

  const size_t width_;
  Harness ranges_;
  Harness lists_;
};

class KeyRangesTest : public ::testing::TestWithParam<OptimizerVariant> {};

INSTANTIATE_TEST_SUITE_P(All, KeyRangesTest,
                         ::testing::ValuesIn(OptimizerVariants()),
                         [](const auto& info) { return info.param.name; });

TEST_P(KeyRangesTest, ARangeDoesWhatItsKeysDo) {
  for (const TableKind kind : {TableKind::kDense, TableKind::kSparse}) {
    for (const SyncMode mode : {SyncMode::kBsp, SyncMode::kAsp}) {
      for (const uint32_t width : {1, 3}) {
        SCOPED_TRACE(::testing::Message()
                     << "dense " << (kind == TableKind::kDense) << ", bsp "
                     << (mode == SyncMode::kBsp) << ", width " << width);
        Pair pair(Options(GetParam().spec, kind, mode, width));
        for (uint32_t step = 0; step < 6; ++step) {
          // Of bsp the first one's entry waits in between.
          for (uint32_t rank = 0; rank < kRanks; ++rank) {
            const uint32_t chunks =
                PushedBy(rank, step).n > 10 && step == 4 ? 3 : 1;
            pair.Push(rank, step, chunks);
            pair.ExpectSameState();
          }
          pair.Push(1, step, 1);  // A repeat.
          pair.ExpectSamePull(0, step + 1, {kRange.first, 1000});
          pair.ExpectSamePull(1, step + 1, {kRange.first + 20, 333});
          // Before the step, of what it pushed and of more.
          pair.ExpectSamePull(0, step, PushedBy(1, step));
          pair.ExpectSamePull(1, step, {kRange.first + 5, 700});
          if (HasFailure()) return;
        }
        pair.ExpectSameState();
      }
    }
  }
}

TEST(KeyRangesTest, ASnapshotOfEntriesThatWaitGoesOn) {
  const PartitionOptions options = Options(
      {.kind = OptimizerKind::kAdagrad}, TableKind::kDense, SyncMode::kBsp, 2);
  Pair pair(options);
  pair.Push(0, 0, 1);
  pair.Push(1, 0, 1);
  pair.Push(1, 1, 1);
  const std::string bytes =
      EncodeSnapshot(pair.ranges().partition().state()).bytes;
  const auto restored =
      DecodeSnapshot(bytes, options, *MakeRowStore(options.table, kRange));
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(EncodeSnapshot(**restored).bytes, bytes);
}

TEST(KeyRangesTest, WhatIsNoRangeOfThePartitionIsRefused) {
  Harness harness(Options({.kind = OptimizerKind::kSum}, TableKind::kDense,
                          SyncMode::kAsp, 1),
                  kRange);
  for (const KeySet& keys :
       {KeySet::Range(kRange.first - 1, 10), KeySet::Range(kRange.last, 2),
        KeySet::Range(0, 1), KeySet::Range(5000, 3)}) {
    PushMessage push;
    push.rank = RankName{0, 1};
    push.keys = keys;
    push.values = FloatBuffer(keys.size(), 1.0f);
    EXPECT_EQ(harness.Code(harness.Push(push)), PartCode::kInvalid);
    PullMessage pull;
    pull.keys = keys;
    EXPECT_EQ(harness.Code(harness.Pull(pull)), PartCode::kInvalid);
  }
  PushMessage push;
  push.rank = RankName{0, 1};
  push.keys = KeySet::Range(kRange.first, 3);
  push.values = {1, 2};
  EXPECT_EQ(harness.Code(harness.Push(push)), PartCode::kInvalid);
  push.values = {1, 2, std::numeric_limits<float>::quiet_NaN()};
  push.known_finite = 2;
  const Ticket ticket = harness.Push(push);
  EXPECT_EQ(harness.Code(ticket), PartCode::kInvalid);
  EXPECT_NE(harness.Of(ticket).outcome.message.find("key 1002"),
            std::string::npos)
      << harness.Of(ticket).outcome.message;
}

}  // namespace
}  // namespace seraph
