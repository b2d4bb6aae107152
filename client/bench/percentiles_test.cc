#include "client/bench/percentiles.h"

#include <cstddef>
#include <random>

#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(PercentilesTest, NearestRank) {
  const Percentiles none = PercentilesOf({});
  EXPECT_EQ(none.p50, 0);
  EXPECT_EQ(none.max, 0);
  const Percentiles one = PercentilesOf({7});
  EXPECT_EQ(one.p50, 7);
  EXPECT_EQ(one.p99, 7);
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  const Percentiles of_hundred = PercentilesOf(hundred);
  EXPECT_EQ(of_hundred.p50, 50);
  EXPECT_EQ(of_hundred.p90, 90);
  EXPECT_EQ(of_hundred.p99, 99);
  EXPECT_EQ(of_hundred.max, 100);
}

// Against the definition, counted out.
TEST(PercentilesTest, IsTheLeastValueThatEnoughDoNotExceed) {
  const unsigned seed = 11;
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values(1 + random() % 300);
    for (double& value : values) value = random() % 50;
    const Percentiles found = PercentilesOf(values);
    const auto below = [&](double limit, bool or_equal) {
      size_t count = 0;
      for (double value : values) {
        count += or_equal ? value <= limit : value < limit;
      }
      return double(count) / double(values.size());
    };
    for (const auto& [value, share] :
         {std::pair(found.p50, 0.5), std::pair(found.p90, 0.9),
          std::pair(found.p99, 0.99)}) {
      EXPECT_GE(below(value, true), share) << "seed " << seed;
      EXPECT_LT(below(value, false), share) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace seraph
