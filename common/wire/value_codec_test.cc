#include "common/wire/value_codec.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kSeed = 15;
constexpr float kMaxFloat = std::numeric_limits<float>::max();

struct Coded {
  std::string bytes;
  uint64_t saturated = 0;
  std::vector<float> values;
};

Coded Code(ValueKind kind, uint32_t width, const std::vector<float>& values,
           const RoundingDraw* draw = nullptr, Key first_key = 1) {
  Coded coded;
  std::vector<Key> keys;
  for (size_t i = 0; i < values.size() / width; ++i) {
    keys.push_back(first_key + i);
  }
  coded.saturated = EncodeValues(kind, width, keys, values, draw, &coded.bytes);
  EXPECT_EQ(coded.bytes.size(), keys.size() * RowBytes(kind, width));
  coded.values.resize(values.size());
  EXPECT_THAT(
      DecodeValues(kind, width, coded.bytes, absl::MakeSpan(coded.values)),
      IsOk());
  return coded;
}

// Finite values of all sizes.
std::vector<float> AnyValues(size_t n) {
  std::vector<float> values;
  for (uint64_t i = 0; values.size() < n; ++i) {
    const float value =
        std::bit_cast<float>(static_cast<uint32_t>(Draw(kSeed, {i})));
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

// All values of a format with so many bits of fraction and exponent, in double:
// an oracle that knows nothing of bits.
double Nearest(double value, int fraction_bits, int least_exponent,
               double largest) {
  if (value == 0) return value;
  int exponent;
  std::frexp(value, &exponent);
  const double step =
      std::ldexp(1.0, std::max(exponent - 1, least_exponent) - fraction_bits);
  const double rounded = std::nearbyint(value / step) * step;
  return std::abs(rounded) > largest ? std::copysign(largest, value) : rounded;
}

TEST(ValueCodecTest, Float32IsAsItIs) {
  const std::vector<float> values = AnyValues(100);
  const Coded coded = Code(ValueKind::kFloat32, 5, values);
  EXPECT_EQ(coded.values, values);
  EXPECT_EQ(coded.saturated, 0);
}

TEST(ValueCodecTest, Float16IsTheNearestAndSaturates) {
  std::vector<float> values = AnyValues(20000);
  for (uint64_t i = 0; i < 20000; ++i) {  // Most of those are out of range.
    values.push_back(static_cast<float>(
        std::ldexp(ToUnit(Draw(kSeed, {1, i})) - 0.5, int(i % 44) - 26)));
  }
  values.insert(values.end(),
                {0.0f, -0.0f, 65504.0f, 65519.9f, 65520.0f, 70000.0f, -70000.0f,
                 kMaxFloat, 0x1p-24f, 0x1p-25f, 0x1.8p-25f});
  const Coded coded = Code(ValueKind::kFloat16, 1, values);
  uint64_t beyond = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(coded.values[i], Nearest(values[i], 10, -14, 65504.0))
        << values[i];
    beyond += std::abs(values[i]) >= 65520;
  }
  EXPECT_EQ(coded.saturated, beyond);
}

TEST(ValueCodecTest, Bfloat16IsTheNearestAndSaturates) {
  std::vector<float> values = AnyValues(40000);
  values.insert(values.end(),
                {0.0f, 1.0f, 0x1.01p0f, 0x1.03p0f, kMaxFloat, -kMaxFloat,
                 0x1.fep127f, 0x1.fefffep127f, 0x1.ffp127f});
  const Coded coded = Code(ValueKind::kBfloat16, 1, values);
  uint64_t beyond = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(coded.values[i], Nearest(values[i], 7, -126, 0x1.fep127))
        << values[i];
    beyond += std::abs(values[i]) >= 0x1.ffp127f;
  }
  EXPECT_EQ(coded.saturated, beyond);
}

TEST(ValueCodecTest, Int8HasTheLeastExponentThatHoldsTheRow) {
  for (int i = -100; i <= 100; ++i) {
    const float base = std::ldexp(1.0f, i);
    // 127 fit, what is above does not.
    EXPECT_EQ(Code(ValueKind::kInt8, 1, {127 * base}).bytes[0], i);
    EXPECT_EQ(Code(ValueKind::kInt8, 1, {-127 * base}).bytes[0], i);
    EXPECT_EQ(Code(ValueKind::kInt8, 1, {64 * base}).bytes[0], i);
    const float above = std::nextafter(127 * base, kMaxFloat);
    EXPECT_EQ(Code(ValueKind::kInt8, 1, {above}).bytes[0], i + 1);
  }
  EXPECT_THAT(Code(ValueKind::kInt8, 3, {0, -0.0f, 0}).values,
              ElementsAre(0, 0, 0));
}

TEST(ValueCodecTest, Int8WithoutADrawIsTheNearest) {
  const Coded coded =
      Code(ValueKind::kInt8, 4, {100, 2.4f, -2.5f, 0.4f, 1, 0.25f, 0.5f, -1});
  EXPECT_THAT(coded.values, ElementsAre(100, 2, -3, 0, 1, 0.25f, 0.5f, -1));
}

TEST(ValueCodecTest, Int8OfAnyRowIsWithinOneStep) {
  const std::vector<float> values = AnyValues(30000);
  for (const bool drawn : {false, true}) {
    const RoundingDraw draw{.seed = kSeed, .table = 3, .rank = 1};
    const Coded coded =
        Code(ValueKind::kInt8, 3, values, drawn ? &draw : nullptr);
    for (size_t row = 0; row < values.size() / 3; ++row) {
      const double step =
          std::ldexp(1.0, static_cast<int8_t>(coded.bytes[row * 4]));
      for (size_t i = 3 * row; i < 3 * row + 3; ++i) {
        ASSERT_TRUE(std::isfinite(coded.values[i])) << values[i];
        EXPECT_LE(std::abs(coded.values[i] - double{values[i]}),
                  drawn ? step : step * 0.5 + (step > 0x1p121 ? step : 0))
            << values[i];
      }
    }
  }
}

TEST(ValueCodecTest, Int8NeverMakesAnInfinity) {
  const Coded coded = Code(ValueKind::kInt8, 2, {kMaxFloat, -kMaxFloat});
  EXPECT_EQ(coded.saturated, 2);
  EXPECT_THAT(coded.values, ElementsAre(63 * 0x1p122f, -63 * 0x1p122f));
}

TEST(ValueCodecTest, Int8LosesNothingOnAverage) {
  RoundingDraw draw{.seed = kSeed, .table = 1, .rank = 2};
  constexpr int kClocks = 40000;
  double sums[4] = {};
  const std::vector<float> row = {100, 0.3f, -0.9f, 7.5f};
  for (uint32_t step = 0; step < kClocks; ++step) {
    draw.clock.step = step;
    const Coded coded = Code(ValueKind::kInt8, 4, row, &draw);
    for (int j = 0; j < 4; ++j) sums[j] += coded.values[j];
  }
  for (int j = 0; j < 4; ++j) {
    // Five standard deviations of a mean of steps of one.
    EXPECT_NEAR(sums[j] / kClocks, row[j], 5 * 0.5 / std::sqrt(kClocks)) << j;
  }
}

// A row is the same alone and among others, and another one in each place.
TEST(ValueCodecTest, ARowDependsOnItsOwnPlaceOnly) {
  const RoundingDraw draw{
      .seed = kSeed, .table = 1, .rank = 2, .clock = {3, 4}};
  std::vector<float> values(400);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(ToUnit(Draw(kSeed, {2, i})));
  }
  const Coded all = Code(ValueKind::kInt8, 4, values, &draw);
  for (size_t row = 0; row < 100; ++row) {
    const std::vector<float> one(values.begin() + 4 * row,
                                 values.begin() + 4 * row + 4);
    EXPECT_EQ(Code(ValueKind::kInt8, 4, one, &draw, 1 + row).bytes,
              all.bytes.substr(5 * row, 5));
  }
  for (const RoundingDraw& other :
       {RoundingDraw{kSeed + 1, 1, 2, {3, 4}},
        RoundingDraw{kSeed, 2, 2, {3, 4}}, RoundingDraw{kSeed, 1, 3, {3, 4}},
        RoundingDraw{kSeed, 1, 2, {2, 4}}, RoundingDraw{kSeed, 1, 2, {3, 5}}}) {
    EXPECT_NE(Code(ValueKind::kInt8, 4, values, &other).bytes, all.bytes);
  }
}

TEST(ValueCodecTest, WhatIsNotFiniteIsNoNumberAndHurtsNoNeighbour) {
  const RoundingDraw draw{.seed = kSeed};
  for (const float value : {std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    for (const RoundingDraw* one :
         {static_cast<const RoundingDraw*>(nullptr), &draw}) {
      const Coded coded = Code(ValueKind::kInt8, 3, {1.0f, value, -0.5f}, one);
      EXPECT_EQ(coded.values[0], 1.0f);
      EXPECT_TRUE(std::isnan(coded.values[1]));
      EXPECT_EQ(coded.values[2], -0.5f);
    }
  }
}

TEST(ValueCodecTest, AWrongLengthIsRefused) {
  std::vector<float> values(6);
  for (const ValueKind kind : {ValueKind::kFloat32, ValueKind::kFloat16,
                               ValueKind::kBfloat16, ValueKind::kInt8}) {
    const std::string bytes(2 * RowBytes(kind, 3), '\0');
    EXPECT_THAT(DecodeValues(kind, 3, bytes, absl::MakeSpan(values)), IsOk());
    for (const std::string& wrong :
         {bytes.substr(1), bytes + "x", std::string()}) {
      EXPECT_THAT(
          DecodeValues(kind, 3, wrong, absl::MakeSpan(values)),
          StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 rows")));
    }
  }
}

}  // namespace
}  // namespace seraph
