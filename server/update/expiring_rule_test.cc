#include "server/update/expiring_rule.h"

#include <cstring>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/update/make_update_rule.h"
#include "server/update/optimizer_variants.h"

namespace seraph {
namespace {

class ExpiringRuleTest : public ::testing::TestWithParam<OptimizerVariant> {};

INSTANTIATE_TEST_SUITE_P(All, ExpiringRuleTest,
                         ::testing::ValuesIn(OptimizerVariants()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ExpiringRuleTest, MovesRowsAsTheOtherAndRemembersTheEpoch) {
  const auto plain = *MakeUpdateRule(GetParam().spec, 3);
  const auto rule = MakeExpiringRule(*MakeUpdateRule(GetParam().spec, 3));
  ASSERT_EQ(rule->width(), 3);
  const uint32_t cells = plain->row_cells();
  ASSERT_EQ(rule->row_cells(), cells + 1);
  std::vector<float> a(cells);
  std::vector<float> b(cells + 1, 7.f);
  const std::vector<float> weights = {1, -2, 0.5};
  plain->InitRow(weights, LazySums{}, a.data());
  rule->InitRow(weights, LazySums{}, b.data());
  EXPECT_EQ(EpochOfRow(b.data(), cells + 1), 0);

  LazySums sums;
  uint32_t last = 0;
  for (const uint32_t epoch : {0, 4, 3, 9}) {
    StepContext step = plain->NextStep(sums, 0.1);
    EXPECT_EQ(rule->Advance(sums, 0.1), step.after);
    step.epoch = epoch;
    const std::vector<float> gradient = {0.5, -1, float(epoch)};
    float* const rows_a[] = {a.data()};
    float* const rows_b[] = {b.data()};
    EXPECT_EQ(plain->Step(rows_a, gradient.data(), step), 0);
    EXPECT_EQ(rule->Step(rows_b, gradient.data(), step), 0);
    sums = step.after;
    last = std::max(last, epoch);
    EXPECT_EQ(EpochOfRow(b.data(), cells + 1), last);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), cells * sizeof(float)), 0);
    std::vector<float> read_a(3), read_b(3);
    const float* const const_a[] = {a.data()};
    const float* const const_b[] = {b.data()};
    plain->Read(const_a, sums, read_a.data());
    rule->Read(const_b, sums, read_b.data());
    EXPECT_EQ(read_a, read_b);
  }
  // What is not finite changes nothing.
  const std::vector<float> before = b;
  const std::vector<float> bad(3, std::numeric_limits<float>::infinity());
  StepContext step = plain->NextStep(sums, 0.1);
  step.epoch = 20;
  float* const rows[] = {b.data()};
  EXPECT_EQ(rule->Step(rows, bad.data(), step), 1);
  EXPECT_EQ(std::memcmp(b.data(), before.data(), b.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace seraph
