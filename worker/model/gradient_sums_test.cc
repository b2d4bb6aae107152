#include "worker/model/gradient_sums.h"

#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelTable Weights(uint32_t width) {
  ModelTable table;
  table.name = "weights";
  table.width = width;
  return table;
}

TEST(GradientSumsTest, DividesByTheExamples) {
  GradientSums sums;
  sums.Reset(/*keys=*/2, /*width=*/3);
  sums.row(0)[0] = 6;
  sums.row(0)[2] = 9;
  sums.row(1)[1] = -3;
  const std::vector<Key> keys = {5, 8};
  TableGradient gradient;
  ASSERT_THAT(sums.Finish(Weights(3), keys, 3, &gradient), IsOk());
  EXPECT_THAT(gradient.keys, ElementsAre(5, 8));
  EXPECT_THAT(gradient.values, ElementsAre(2, 0, 3, 0, -1, 0));
}

TEST(GradientSumsTest, KeepsTheTouchedKeysAloneAlsoWithAZero) {
  GradientSums sums;
  TableGradient gradient;
  const std::vector<Key> keys = {5, 8, 9};
  sums.Reset(3, 1);
  for (size_t i = 0; i < 3; ++i) *sums.row(i) = i;
  sums.Touch(0);
  sums.Touch(2);
  ASSERT_THAT(sums.FinishTouched(Weights(1), keys, 1, &gradient), IsOk());
  EXPECT_THAT(gradient.keys, ElementsAre(5, 9));
  EXPECT_THAT(gradient.values, ElementsAre(0, 2));

  sums.Reset(3, 1);
  ASSERT_THAT(sums.FinishTouched(Weights(1), keys, 1, &gradient), IsOk());
  EXPECT_THAT(gradient.keys, IsEmpty()) << "the last batch's keys are gone";
  EXPECT_THAT(gradient.values, IsEmpty());
}

TEST(GradientSumsTest, NamesTheKeyWhoseGradientFloatCannotHold) {
  GradientSums sums;
  sums.Reset(2, 2);
  sums.row(1)[1] = -1e39;
  sums.Touch(1);
  const std::vector<Key> keys = {5, 8};
  TableGradient gradient;
  const auto want = StatusIs(
      absl::StatusCode::kOutOfRange,
      HasSubstr("table 'weights', key 8, column 1 is -inf as float32"));
  EXPECT_THAT(sums.Finish(Weights(2), keys, 1, &gradient), want);
  EXPECT_THAT(sums.FinishTouched(Weights(2), keys, 1, &gradient), want);
  EXPECT_THAT(sums.Finish(Weights(2), keys, 10, &gradient), IsOk())
      << "the mean fits";
}

}  // namespace
}  // namespace seraph
