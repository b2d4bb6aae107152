#include "scheduler/job/early_stop.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

// The index of the value that stops, or -1.
int StopsAt(EarlyStop stop, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (stop.Observe(values[i])) return i;
  }
  return -1;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(EarlyStopTest, CountsEpochsOnEndWithoutABetterBest) {
  const EarlyStop two(2, /*larger_is_better=*/false);
  EXPECT_EQ(StopsAt(two, {5, 4, 3, 2, 1}), -1);
  EXPECT_EQ(StopsAt(two, {5, 6, 4, 5, 3, 4}), -1)
      << "each was followed by a best";
  EXPECT_EQ(StopsAt(two, {5, 6, 5}), 2) << "as good as the best is no better";
  EXPECT_EQ(StopsAt(two, {5, 7, 6}), 2) << "better than the last is not enough";
  EXPECT_EQ(StopsAt(EarlyStop(1, false), {5, 5}), 1);
}

TEST(EarlyStopTest, LargerMayBeBetter) {
  const EarlyStop stop(2, /*larger_is_better=*/true);
  EXPECT_EQ(StopsAt(stop, {0.5, 0.6, 0.7}), -1);
  EXPECT_EQ(StopsAt(stop, {0.5, 0.4, 0.3}), 2);
}

TEST(EarlyStopTest, TheFirstValueIsTheBestSoFarWhateverItIs) {
  EXPECT_EQ(StopsAt(EarlyStop(1, false), {1e300, 1e299}), -1);
  EXPECT_EQ(StopsAt(EarlyStop(1, true), {-1e300, -1e299}), -1);
}

TEST(EarlyStopTest, WhatIsNoNumberIsNoBetter) {
  EXPECT_EQ(StopsAt(EarlyStop(2, false), {5, kNan, kNan}), 2);
  EXPECT_EQ(StopsAt(EarlyStop(2, false), {kNan, 5, kNan, 4}), -1);
}

}  // namespace
}  // namespace seraph
