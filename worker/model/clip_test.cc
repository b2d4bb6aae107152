#include "worker/model/clip.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;

std::vector<TableGradient> ThreeFourTwelve() {
  std::vector<TableGradient> gradients(2);
  gradients[0].values = {3, -4};
  gradients[1].values = {12};
  return gradients;  // Norms 5 and 12, 13 together.
}

TEST(ClipByGlobalNormTest, TheNormIsOverAllTables) {
  std::vector<TableGradient> gradients = ThreeFourTwelve();
  EXPECT_EQ(ClipByGlobalNorm(6.5, &gradients), 13);
  EXPECT_THAT(gradients[0].values, ElementsAre(1.5, -2));
  EXPECT_THAT(gradients[1].values, ElementsAre(6));
}

TEST(ClipByGlobalNormTest, LeavesAShorterGradientAndZeroMeansNoClipping) {
  for (double max_norm : {13.0, 100.0, 0.0}) {
    std::vector<TableGradient> gradients = ThreeFourTwelve();
    EXPECT_EQ(ClipByGlobalNorm(max_norm, &gradients), 13);
    EXPECT_THAT(gradients[0].values, ElementsAre(3, -4)) << max_norm;
    EXPECT_THAT(gradients[1].values, ElementsAre(12)) << max_norm;
  }
}

TEST(ClipByGlobalNormTest, TheNormOfTheLargestFloatsIsFinite) {
  std::vector<TableGradient> gradients(1);
  gradients[0].values.assign(4, 3e38f);
  EXPECT_FLOAT_EQ(ClipByGlobalNorm(1, &gradients), 6e38);
  EXPECT_THAT(gradients[0].values, ::testing::Each(0.5f));
}

TEST(ClipByGlobalNormTest, SumsInDoubleAndNotInFloat) {
  std::vector<TableGradient> gradients(1);
  gradients[0].values.assign(1 << 20, 1e-4f);
  gradients[0].values[0] = 1;
  EXPECT_NEAR(ClipByGlobalNorm(0, &gradients),
              std::sqrt(1 + ((1 << 20) - 1) * 1e-8), 1e-9);
}

TEST(ClipByGlobalNormTest, AnEmptyGradientHasTheNormZero) {
  std::vector<TableGradient> gradients(2);
  EXPECT_EQ(ClipByGlobalNorm(1, &gradients), 0);
}

}  // namespace
}  // namespace seraph
