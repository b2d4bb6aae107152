#include "worker/client/push_encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "common/wire/value_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kSeed = 15;

TableSpec Table(ValueKind transport, uint32_t width = 2) {
  return {.name = "w", .width = width, .seed = 7, .transport = transport};
}

std::vector<float> Decode(const TableSpec& table, const std::string& bytes) {
  std::vector<float> values(
      bytes.size() / RowBytes(table.transport, table.width) * table.width);
  EXPECT_THAT(
      DecodeValues(table.transport, table.width, bytes, absl::MakeSpan(values)),
      IsOk());
  return values;
}

// What the encoder makes of one push, decoded again.
std::vector<float> Sent(PushEncoder* encoder, const TableSpec& table,
                        const std::vector<Key>& keys,
                        const std::vector<float>& values, Clock clock = {}) {
  const EntryPush entry{.clock = clock, .tables = {{keys, values}}};
  return Decode(table, encoder->Encode(entry).at(0));
}

float Value(uint64_t i) {
  return static_cast<float>(ToUnit(Draw(kSeed, {i})) - 0.5);
}

TEST(PushEncoderTest, Float32IsLeftAsItIs) {
  PushEncoder encoder({Table(ValueKind::kFloat32)}, 0, false);
  const std::vector<Key> keys = {1};
  const std::vector<float> values = {1, 2};
  const EntryPush entry{.tables = {{keys, values}}};
  EXPECT_THAT(encoder.Encode(entry), ElementsAre(IsEmpty()));
  EXPECT_THAT(encoder.Encode(EntryPush()), ElementsAre(IsEmpty()));
}

TEST(PushEncoderTest, HalvesRoundToTheNearest) {
  for (const bool feedback : {false, true}) {
    for (const ValueKind kind : {ValueKind::kFloat16, ValueKind::kBfloat16}) {
      const TableSpec table = Table(kind);
      PushEncoder encoder({table}, 0, feedback);
      // 1 + 2^-12 is nearer to 1 than to the next value, time after time.
      for (int time = 0; time < 3; ++time) {
        EXPECT_THAT(Sent(&encoder, table, {4}, {1 + 0x1p-12f, -2.5f}),
                    ElementsAre(1.0f, -2.5f));
      }
    }
  }
}

TEST(PushEncoderTest, WhatIsBeyondTheRangeIsCounted) {
  const TableSpec table = Table(ValueKind::kFloat16);
  PushEncoder encoder({table}, 0, false);
  EXPECT_THAT(Sent(&encoder, table, {4, 5}, {70000, 1, -70000, 2}),
              ElementsAre(65504, 1, -65504, 2));
  EXPECT_EQ(encoder.saturated(), 2);
}

// A new attempt has nothing but the clock; neighbours in the message are what
// the partitions make of it.
TEST(PushEncoderTest, ARowOfInt8DependsOnItsNameAlone) {
  const TableSpec table = Table(ValueKind::kInt8);
  std::vector<Key> keys;
  std::vector<float> values;
  for (uint64_t i = 0; i < 100; ++i) {
    keys.push_back(3 * i);
    values.push_back(Value(2 * i));
    values.push_back(Value(2 * i + 1));
  }
  PushEncoder first({table}, 1, false);
  Sent(&first, table, keys, values, {0, 4});
  const std::vector<float> sent = Sent(&first, table, keys, values, {0, 5});
  PushEncoder later({table}, 1, false);
  EXPECT_EQ(Sent(&later, table, keys, values, {0, 5}), sent);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_THAT(Sent(&later, table, {keys[i]},
                     {values[2 * i], values[2 * i + 1]}, {0, 5}),
                ElementsAre(sent[2 * i], sent[2 * i + 1]));
  }
  PushEncoder other({table}, 2, false);
  EXPECT_NE(Sent(&other, table, keys, values, {0, 5}), sent);
  EXPECT_NE(Sent(&later, table, keys, values, {0, 6}), sent);
}

// The sum of what was sent is the sum of what was wanted, but for the last
// residual, which is half a step at most. Without feedback a value that is
// always rounded the same way would be lost for ever.
TEST(PushEncoderTest, FeedbackLosesNothingInTheLongRun) {
  const TableSpec table = Table(ValueKind::kInt8);
  PushEncoder encoder({table}, 0, true);
  std::vector<double> wanted(200), sent(200);
  for (int push = 0; push < 300; ++push) {
    std::vector<Key> keys;
    std::vector<float> values;
    for (Key key = 0; key < 100; ++key) {
      if (Draw(kSeed, {1, key, static_cast<uint64_t>(push)}) % 2 == 0) continue;
      keys.push_back(key);
      values.push_back(1.0f);
      values.push_back(0.001f);  // Below half of the row's step.
      wanted[2 * key] += values[values.size() - 2];
      wanted[2 * key + 1] += values.back();
    }
    const std::vector<float> got = Sent(&encoder, table, keys, values);
    for (size_t i = 0; i < keys.size(); ++i) {
      sent[2 * keys[i]] += got[2 * i];
      sent[2 * keys[i] + 1] += got[2 * i + 1];
    }
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(sent[i], wanted[i], 0.009) << "value " << i;
  }
  PushEncoder without({table}, 0, true);
  EXPECT_THAT(Sent(&without, table, {1}, {1.0f, 0.001f}),
              ElementsAre(1.0f, 0.0f))
      << "a new attempt starts with no residual";
}

TEST(PushEncoderTest, WhatIsNotFiniteStaysSoAndLeavesNothingBehind) {
  const TableSpec table = Table(ValueKind::kInt8);
  for (const bool feedback : {false, true}) {
    PushEncoder encoder({table}, 0, feedback);
    const std::vector<float> sent = Sent(
        &encoder, table, {1}, {std::numeric_limits<float>::infinity(), 1.0f});
    EXPECT_TRUE(std::isnan(sent[0]));
    EXPECT_EQ(sent[1], 1.0f);
    EXPECT_THAT(Sent(&encoder, table, {1}, {1.0f, 1.0f}),
                ElementsAre(1.0f, 1.0f));
  }
}

}  // namespace
}  // namespace seraph
