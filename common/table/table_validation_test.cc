#include "common/table/table_validation.h"

#include <limits>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr auto kBad = absl::StatusCode::kInvalidArgument;
using Kind = OptimizerKind;

TEST(ValidateOptimizerTest, TakesTheDefaultsOfEveryKind) {
  for (Kind kind :
       {Kind::kSgd, Kind::kMomentum, Kind::kNesterov, Kind::kAdagrad,
        Kind::kRmsprop, Kind::kAdadelta, Kind::kAdam, Kind::kAdamw, Kind::kFtrl,
        Kind::kSum, Kind::kAssign}) {
    EXPECT_THAT(ValidateOptimizer({.kind = kind}), IsOk());
  }
}

struct BadOptimizer {
  OptimizerSpec spec;
  std::string field;
};

TEST(ValidateOptimizerTest, NamesTheFieldThatIsOutOfRange) {
  const std::vector<BadOptimizer> cases = {
      {{.kind = Kind::kSgd, .learning_rate = 0}, "learning_rate: 0"},
      {{.kind = Kind::kSgd, .learning_rate = kNan}, "learning_rate: nan"},
      {{.kind = Kind::kSgd, .learning_rate = kInfinity}, "learning_rate: inf"},
      {{.kind = Kind::kSgd, .l1 = -1}, "l1: -1"},
      {{.kind = Kind::kSgd, .l2 = kNan}, "l2: nan"},
      {{.kind = Kind::kSgd, .learning_rate = 0.5, .l2 = 2}, "l2: 2 times"},
      {{.kind = Kind::kMomentum, .momentum = 1}, "momentum: 1"},
      {{.kind = Kind::kNesterov, .momentum = -0.1}, "momentum: -0.1"},
      {{.kind = Kind::kAdagrad, .epsilon = -1}, "epsilon: -1"},
      {{.kind = Kind::kRmsprop, .rho = 1}, "rho: 1"},
      {{.kind = Kind::kAdadelta, .rho = kNan}, "rho: nan"},
      {{.kind = Kind::kAdam, .beta1 = 1}, "beta1: 1"},
      {{.kind = Kind::kAdam, .beta2 = -1}, "beta2: -1"},
      {{.kind = Kind::kAdamw, .weight_decay = -1}, "weight_decay: -1"},
      {{.kind = Kind::kAdamw, .learning_rate = 2, .weight_decay = 0.5},
       "weight_decay: 0.5 times"},
      {{.kind = Kind::kFtrl, .alpha = 0}, "alpha: 0"},
      {{.kind = Kind::kFtrl, .beta = -1}, "beta: -1"},
      {{.kind = Kind::kFtrl, .clip_value = -1}, "clip_value: -1"},
      {{.kind = Kind::kSum, .l2 = 0.1}, "l2: 0.1"},
      {{.kind = Kind::kAssign, .l1 = 0.1}, "l1: 0.1"},
      {{.kind = Kind::kAssign, .clip_value = 1}, "clip_value: 1"},
  };
  for (const BadOptimizer& bad : cases) {
    EXPECT_THAT(ValidateOptimizer(bad.spec),
                StatusIs(kBad, HasSubstr(bad.field)));
  }
}

TEST(ValidateOptimizerTest, LooksOnlyAtTheFieldsOfTheKind) {
  EXPECT_THAT(ValidateOptimizer({.kind = Kind::kAdagrad,
                                 .momentum = 7,
                                 .rho = 7,
                                 .beta1 = 7,
                                 .weight_decay = -1,
                                 .alpha = -1}),
              IsOk());
  // Only where the decay acts on idle weights is its size limited.
  EXPECT_THAT(
      ValidateOptimizer({.kind = Kind::kAdagrad, .learning_rate = 1, .l2 = 2}),
      IsOk());
}

TEST(ValidateScheduleTest, ChecksTheRanges) {
  EXPECT_THAT(ValidateSchedule({}), IsOk());
  EXPECT_THAT(ValidateSchedule({.kind = ScheduleKind::kStep, .decay_rate = 1}),
              IsOk());
  EXPECT_THAT(ValidateSchedule({.kind = ScheduleKind::kStep, .decay_rate = 0}),
              StatusIs(kBad, HasSubstr("decay_rate: 0")));
  EXPECT_THAT(
      ValidateSchedule({.kind = ScheduleKind::kExponential, .decay_rate = 1.1}),
      StatusIs(kBad, HasSubstr("decay_rate: 1.1")));
  EXPECT_THAT(
      ValidateSchedule({.kind = ScheduleKind::kCosine, .min_factor = kNan}),
      StatusIs(kBad, HasSubstr("min_factor: nan")));
}

TEST(ValidateInitializerTest, EveryDrawMustBeAFloat) {
  using Init = InitializerKind;
  EXPECT_THAT(ValidateInitializer({.kind = Init::kZero, .mean = kNan}), IsOk());
  EXPECT_THAT(ValidateInitializer({.kind = Init::kNormal, .scale = 0.01}),
              IsOk());
  EXPECT_THAT(ValidateInitializer({.kind = Init::kConstant, .mean = 1e39}),
              StatusIs(kBad, HasSubstr("mean: 1e+39")));
  EXPECT_THAT(ValidateInitializer({.kind = Init::kUniform, .scale = -1}),
              StatusIs(kBad, HasSubstr("scale: -1")));
  EXPECT_THAT(ValidateInitializer({.kind = Init::kNormal, .scale = 1e38}),
              StatusIs(kBad, HasSubstr("scale: 1e+38")));
}

TEST(ValidateTableTest, NamesTheTableAndEveryBadField) {
  const TableSpec good = {
      .name = "w", .kind = TableKind::kDense, .keys = 10, .width = 2};
  EXPECT_THAT(ValidateTable(good), IsOk());
  TableSpec bad = good;
  bad.keys = 0;
  bad.scramble = true;
  bad.width = 0;
  bad.partitions = 0;
  bad.optimizer.learning_rate = -1;
  bad.schedule = {.kind = ScheduleKind::kStep, .decay_rate = 2};
  bad.initializer = {.kind = InitializerKind::kConstant, .mean = kNan};
  const absl::Status status = ValidateTable(bad);
  for (const char* part :
       {"table 'w'", "keys", "scramble", "width: 0", "partitions",
        "learning_rate: -1", "decay_rate: 2", "mean: nan"}) {
    EXPECT_THAT(status, StatusIs(kBad, HasSubstr(part)));
  }
  bad = good;
  bad.name = "";
  EXPECT_THAT(ValidateTable(bad), StatusIs(kBad, HasSubstr("name")));
  bad = good;
  bad.width = kMaxTableWidth + 1;
  EXPECT_THAT(ValidateTable(bad), StatusIs(kBad, HasSubstr("width")));
}

}  // namespace
}  // namespace seraph
