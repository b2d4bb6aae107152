#include "server/update/lanes.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/base/draw.h"
#include "common/table/lazy_terms.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

constexpr uint64_t kSeed = 20261130;

// Doubles of every kind: a number of `n`, as a float that is widened.
double Number(uint64_t n) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSpecial[] = {0.0,   -0.0,   1.0,       -1.0,      5e-324,
                                 1e300, -1e300, kInfinity, -kInfinity};
  const uint64_t draw = Draw(kSeed, {n});
  if (draw % 8 == 0) return kSpecial[draw / 8 % std::size(kSpecial)];
  const double normal = ToNormal(Draw(kSeed, {n, 1}), Draw(kSeed, {n, 2}));
  return std::ldexp(normal, static_cast<int>(draw % 300) - 150);
}

float At(const Lanes& lanes, int i) { return lanes.ToFloats()[i]; }

bool SameFloat(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Each lane against the scalar operation, over neighbours of every kind.
TEST(LanesTest, ALaneIsWhatTheScalarOperationGives) {
  for (uint64_t n = 0; n < 20000; ++n) {
    double x[4], y[4];
    for (uint64_t i = 0; i < 4; ++i) {
      x[i] = Number(n * 8 + i);
      y[i] = Number(n * 8 + 4 + i);
    }
    const Lanes a(x[0], x[1], x[2], x[3]);
    const Lanes b(y[0], y[1], y[2], y[3]);
    Lanes sum = a;
    sum += b;
    Lanes difference = a;
    difference -= b;
    for (int i = 0; i < 4; ++i) {
      SCOPED_TRACE(testing::Message() << x[i] << " and " << y[i]);
      // Scaled, so that what a double has beyond a float shows.
      const auto same = [&](const Lanes& lanes, double want) {
        EXPECT_TRUE(SameFloat(At(lanes, i), want)) << want;
        const double rest = want - static_cast<double>(float(want));
        const Lanes of = lanes - Lanes::Of(lanes.ToFloats());
        EXPECT_TRUE(SameFloat(At(of * 1e10, i), rest * 1e10)) << want;
      };
      same(a + b, x[i] + y[i]);
      same(sum, x[i] + y[i]);
      same(a - b, x[i] - y[i]);
      same(difference, x[i] - y[i]);
      same(a * b, x[i] * y[i]);
      same(a / b, x[i] / y[i]);
      same(-a, -x[i]);
      same(Abs(a), std::abs(x[i]));
      same(Sqrt(Abs(a)), std::sqrt(std::abs(x[i])));
      same(Select(a < b, a, b), x[i] < y[i] ? x[i] : y[i]);
      same(Select(a > b, a, 1.0), x[i] > y[i] ? x[i] : 1.0);
      same(Select(a <= b, 2.0, b), x[i] <= y[i] ? 2.0 : y[i]);
      same(SoftThreshold(a, Abs(b)), SoftThreshold(x[i], std::abs(y[i])));
    }
  }
}

TEST(LanesTest, SaysWhichLanesAreNotFinite) {
  const float bad[] = {std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN(),
                       -std::numeric_limits<float>::quiet_NaN()};
  const float good[] = {0.0f, -0.0f, std::numeric_limits<float>::max(), 1e-45f};
  for (uint32_t lanes = 0; lanes < 16; ++lanes) {
    for (int shift = 0; shift < 4; ++shift) {
      float values[4];
      for (int i = 0; i < 4; ++i) {
        const int of = (i + shift) % 4;
        values[i] = (lanes >> i) & 1 ? bad[of] : good[of];
      }
      EXPECT_EQ(SetLanes(NotFinite(LoadFloats(values))), lanes);
    }
  }
}

}  // namespace
}  // namespace seraph
