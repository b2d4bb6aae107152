#include "common/base/finite.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

using Limits = std::numeric_limits<float>;

TEST(FirstNotFiniteTest, FindsTheFirstWhereverItStands) {
  const float bad[] = {Limits::infinity(), -Limits::infinity(),
                       Limits::quiet_NaN(), -Limits::quiet_NaN(),
                       Limits::signaling_NaN()};
  for (size_t n : {1, 7, 63, 64, 65, 128, 200}) {
    for (size_t first = 0; first < n; ++first) {
      std::vector<float> values(n, 1.0f);
      values[first] = bad[first % std::size(bad)];
      values[n - 1 - (n - 1 - first) / 2] = bad[n % std::size(bad)];
      EXPECT_EQ(FirstNotFinite(values), first) << "of " << n;
    }
  }
}

TEST(FirstNotFiniteTest, TakesEveryFiniteNumber) {
  std::vector<float> values;
  EXPECT_EQ(FirstNotFinite(values), 0u);
  for (int i = 0; i < 200; ++i) {
    const float numbers[] = {0.0f,
                             -0.0f,
                             Limits::max(),
                             Limits::lowest(),
                             Limits::denorm_min(),
                             -Limits::min(),
                             std::nextafter(1.0f, 2.0f)};
    values.push_back(numbers[i % std::size(numbers)]);
    EXPECT_EQ(FirstNotFinite(values), values.size());
  }
}

}  // namespace
}  // namespace seraph
