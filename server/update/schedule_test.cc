#include "server/update/schedule.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace seraph {
namespace {

constexpr uint64_t kSteps = 100;  // Per epoch.
constexpr uint64_t kEpochs = 10;

struct Point {
  std::string name;
  ScheduleSpec schedule;
  Clock clock;
  double want;
};

class ScheduleTest : public ::testing::TestWithParam<Point> {};

using Kind = ScheduleKind;

INSTANTIATE_TEST_SUITE_P(
    Points, ScheduleTest,
    ::testing::Values(
        Point{"Constant", {}, {7, 50}, 1},
        Point{
            "InverseSqrtStart", {.kind = Kind::kInverseSquareRoot}, {0, 0}, 1},
        Point{"InverseSqrtAfterThreeEpochs",
              {.kind = Kind::kInverseSquareRoot},
              {3, 0},
              0.5},
        Point{"InverseSqrtOwnSteps",
              {.kind = Kind::kInverseSquareRoot, .decay_steps = 10},
              {0, 80},
              1.0 / 3},
        Point{"ExponentialHalfAnEpoch",
              {.kind = Kind::kExponential, .decay_rate = 0.25},
              {0, 50},
              0.5},
        Point{"ExponentialTwoEpochs",
              {.kind = Kind::kExponential, .decay_rate = 0.5},
              {2, 0},
              0.25},
        Point{"StepBefore",
              {.kind = Kind::kStep, .decay_rate = 0.1, .decay_steps = 30},
              {0, 59},
              0.1},
        Point{"StepAt",
              {.kind = Kind::kStep, .decay_rate = 0.1, .decay_steps = 30},
              {0, 60},
              0.01},
        Point{"CosineStart", {.kind = Kind::kCosine}, {0, 0}, 1},
        Point{"CosineMiddle", {.kind = Kind::kCosine}, {5, 0}, 0.5},
        Point{"CosineQuarterWithMinimum",
              {.kind = Kind::kCosine, .min_factor = 0.2},
              {2, 50},
              0.2 + 0.8 * (1 + std::sqrt(0.5)) / 2},
        Point{"CosineEnd",
              {.kind = Kind::kCosine, .min_factor = 0.2},
              {10, 0},
              0.2},
        Point{"CosineLongPastItsEnd",
              {.kind = Kind::kCosine, .total_steps = 200},
              {9, 0},
              0},
        Point{"CosineBehindAWarmup",
              {.kind = Kind::kCosine, .total_steps = 300, .warmup_steps = 100},
              {2, 0},
              0.5},
        Point{"CosineNothingBehindTheWarmup",
              {.kind = Kind::kCosine,
               .total_steps = 50,
               .min_factor = 0.1,
               .warmup_steps = 100},
              {1, 0},
              0.1},
        Point{"WarmupFirst", {.warmup_steps = 200}, {0, 0}, 0.005},
        Point{"WarmupMiddle", {.warmup_steps = 200}, {0, 99}, 0.5},
        Point{"WarmupLast", {.warmup_steps = 200}, {1, 99}, 1},
        Point{
            "WarmupInFrontOfADecay",
            {.kind = Kind::kExponential, .decay_rate = 0.5, .warmup_steps = 50},
            {1, 50},
            0.5}),
    [](const auto& info) { return info.param.name; });

TEST_P(ScheduleTest, HasTheFactor) {
  const Point& point = GetParam();
  EXPECT_NEAR(ScheduleFactor(point.schedule, point.clock, kSteps, kEpochs),
              point.want, 1e-12);
}

TEST(ScheduleFactorTest, StaysWithinZeroAndOneEverywhere) {
  for (Kind kind : {Kind::kConstant, Kind::kInverseSquareRoot,
                    Kind::kExponential, Kind::kStep, Kind::kCosine}) {
    for (uint64_t warmup : {0, 1, 7, 100000}) {
      const ScheduleSpec schedule = {
          .kind = kind, .decay_rate = 0.9, .warmup_steps = warmup};
      for (uint32_t epoch = 0; epoch < 12; ++epoch) {
        for (uint32_t step = 0; step <= kSteps; step += 5) {
          const double factor =
              ScheduleFactor(schedule, {epoch, step}, kSteps, kEpochs);
          ASSERT_GE(factor, 0);
          ASSERT_LE(factor, 1);
        }
      }
    }
  }
}

TEST(ScheduleFactorTest, AnEpochWithoutStepsDividesByNothing) {
  for (Kind kind : {Kind::kInverseSquareRoot, Kind::kExponential, Kind::kStep,
                    Kind::kCosine}) {
    EXPECT_TRUE(
        std::isfinite(ScheduleFactor({.kind = kind}, {3, 0}, 0, kEpochs)));
  }
}

}  // namespace
}  // namespace seraph
