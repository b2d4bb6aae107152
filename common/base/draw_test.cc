#include "common/base/draw.h"

#include <cmath>

#include "gtest/gtest.h"

namespace seraph {
namespace {

// Initial values and shuffles of every job follow from these bits.
TEST(DrawTest, NeverChanges) {
  EXPECT_EQ(Draw(1, {2, 3}), 0x26f2a1148cf52011u);
  EXPECT_NE(Draw(1, {2, 3}), Draw(1, {3, 2}));
  EXPECT_NE(Draw(1, {2, 3}), Draw(2, {2, 3}));
  EXPECT_EQ(DrawLabel("weights"), 0x06cc94573ff53c71u);
  EXPECT_NE(DrawLabel("weights"), DrawLabel("bias"));
}

TEST(DrawTest, BelowIsUniformAndInRange) {
  int counts[10] = {};
  for (uint64_t i = 0; i < 100000; ++i) ++counts[ToBelow(Draw(7, {i}), 10)];
  for (int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(DrawTest, NormalHasMeanZeroAndVarianceOne) {
  double sum = 0, squares = 0;
  constexpr int kDraws = 100000;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double x = ToNormal(Draw(7, {i, 0}), Draw(7, {i, 1}));
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  // Five standard errors of the mean and of the variance.
  EXPECT_NEAR(sum / kDraws, 0.0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 5 * std::sqrt(2.0 / kDraws));
}

TEST(DrawTest, UnitStaysBelowOne) {
  EXPECT_EQ(ToUnit(0), 0.0);
  EXPECT_LT(ToUnit(~uint64_t{0}), 1.0);
}

}  // namespace
}  // namespace seraph
