#include "worker/model/loss.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

// Each loss once more, straight from its formula and in long double, which has
// the range for exp(1e4). The two share no code.
using Formula = std::function<long double(long double f, double y)>;

long double Sign(double y) { return y == 1 ? 1.0L : -1.0L; }

struct Case {
  std::string name;
  std::function<PointLoss(double f, double y)> loss;
  Formula formula;
  std::vector<double> labels;
};

class LossOf : public ::testing::TestWithParam<Case> {};

TEST_P(LossOf, FollowsItsFormulaAndItsSlopeTheDifferences) {
  const Case& c = GetParam();
  constexpr uint64_t kSeed = 5;
  double most_slope = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const double f = 12 * ToUnit(Draw(kSeed, {i})) - 6;
    for (double y : c.labels) {
      const PointLoss at = c.loss(f, y);
      const double want = c.formula(f, y);
      ASSERT_NEAR(at.loss, want, 1e-14 * (1 + want)) << "f " << f << " y " << y;
      // Central differences: the error is h^2 times the third derivative and,
      // over a kink, h: none of the random scores is that near to one.
      const long double h = 1e-6L;
      const double slope =
          (c.formula(f + h, y) - c.formula(f - h, y)) / (2 * h);
      ASSERT_NEAR(at.slope, slope, 1e-9) << "f " << f << " y " << y;
      most_slope = std::max(most_slope, std::abs(slope));
    }
  }
  EXPECT_GT(most_slope, 0.4) << "a flat loss would make this test say nothing";
}

TEST_P(LossOf, IsExactAtHugeScores) {
  const Case& c = GetParam();
  for (double f : {-1e4, -745.5, -40.0, 40.0, 745.5, 1e4}) {
    for (double y : c.labels) {
      const PointLoss at = c.loss(f, y);
      ASSERT_TRUE(std::isfinite(at.loss)) << "f " << f << " y " << y;
      ASSERT_TRUE(std::isfinite(at.slope)) << "f " << f << " y " << y;
      const double want = c.formula(f, y);
      ASSERT_NEAR(at.loss, want, 1e-14 * want) << "f " << f << " y " << y;
      ASSERT_GE(at.loss, 0) << "f " << f << " y " << y;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Losses, LossOf,
    ::testing::Values(
        Case{"Squared",
             SquaredLoss,
             [](long double f, double y) { return (f - y) * (f - y) / 2; },
             {-3, 0, 2.5}},
        Case{"Huber",
             [](double f, double y) { return HuberLoss(f, y, 1.25); },
             [](long double f, double y) -> long double {
               const long double r = f > y ? f - y : y - f;
               return r <= 1.25L ? r * r / 2 : 1.25L * (r - 1.25L / 2);
             },
             {-3, 0, 2.5}},
        Case{"Log",
             [](double f, double y) { return LogLoss(f, y == 1); },
             [](long double f, double y) { return log1pl(expl(-Sign(y) * f)); },
             {0, 1}},
        Case{"Hinge",
             [](double f, double y) { return HingeLoss(f, y == 1); },
             [](long double f, double y) {
               return std::max(0.0L, 1 - Sign(y) * f);
             },
             {0, 1}},
        Case{"SquaredHinge",
             [](double f, double y) { return SquaredHingeLoss(f, y == 1); },
             [](long double f, double y) {
               const long double miss = std::max(0.0L, 1 - Sign(y) * f);
               return miss * miss;
             },
             {0, 1}}),
    [](const auto& info) { return info.param.name; });

TEST(HuberLossTest, BothSidesOfTheKinkMeet) {
  for (double side : {-1.0, 1.0}) {
    const PointLoss at = HuberLoss(side * 1.5, 0, 1.5);
    EXPECT_EQ(at.loss, 1.125);
    EXPECT_EQ(at.slope, side * 1.5);
    const PointLoss beyond = HuberLoss(side * std::nextafter(1.5, 2), 0, 1.5);
    EXPECT_NEAR(beyond.loss, 1.125, 1e-15);
    EXPECT_EQ(beyond.slope, side * 1.5);
  }
}

TEST(HingeLossTest, AnExampleOnItsMarginIsNotViolated) {
  EXPECT_EQ(HingeLoss(1, true).slope, 0);
  EXPECT_EQ(HingeLoss(-1, false).slope, 0);
  EXPECT_EQ(HingeLoss(std::nextafter(1, 0), true).slope, -1);
  EXPECT_EQ(HingeLoss(std::nextafter(-1, 0), false).slope, 1);
}

TEST(LogLossTest, KnownValues) {
  EXPECT_EQ(LogLoss(0, true).loss, std::log(2));
  EXPECT_EQ(LogLoss(0, true).slope, -0.5);
  EXPECT_EQ(LogLoss(0, false).slope, 0.5);
  EXPECT_EQ(LogLoss(-1e4, true).loss, 1e4);
  EXPECT_EQ(LogLoss(-1e4, true).slope, -1);
  EXPECT_EQ(LogLoss(1e4, true).slope, 0);
  // A tiny miss keeps its digits, where 1 - logistic(f) would give 0.
  EXPECT_DOUBLE_EQ(LogLoss(50, true).slope, -std::exp(-50));
}

TEST(LogisticTest, KnownValuesAndBothEnds) {
  EXPECT_EQ(Logistic(0), 0.5);
  EXPECT_DOUBLE_EQ(Logistic(std::log(3)), 0.75);
  EXPECT_DOUBLE_EQ(Logistic(-std::log(3)), 0.25);
  EXPECT_EQ(Logistic(1e4), 1);
  EXPECT_EQ(Logistic(-1e4), 0);
  EXPECT_DOUBLE_EQ(Logistic(-700), std::exp(-700));
}

// -f_y + log(sum of exp(f_k)), in long double and without the maximum.
long double Entropy(const std::vector<long double>& scores, size_t label) {
  long double sum = 0;
  for (long double score : scores) sum += expl(score);
  return logl(sum) - scores[label];
}

TEST(CrossEntropyTest, FollowsItsFormulaAndItsSlopesTheDifferences) {
  constexpr uint64_t kSeed = 11;
  for (uint64_t i = 0; i < 200; ++i) {
    const size_t classes = 2 + i % 9;
    std::vector<double> scores(classes), slopes(classes);
    for (uint64_t k = 0; k < classes; ++k) {
      scores[k] = 8 * ToUnit(Draw(kSeed, {i, k})) - 4;
    }
    const size_t label = i % classes;
    const double loss = CrossEntropy(scores, label, absl::MakeSpan(slopes));
    std::vector<long double> at(scores.begin(), scores.end());
    ASSERT_NEAR(loss, Entropy(at, label), 1e-14 * (1 + loss)) << "draw " << i;
    for (size_t k = 0; k < classes; ++k) {
      const long double h = 1e-6L;
      at[k] = scores[k] + h;
      const long double above = Entropy(at, label);
      at[k] = scores[k] - h;
      const long double below = Entropy(at, label);
      at[k] = scores[k];
      ASSERT_NEAR(slopes[k], static_cast<double>((above - below) / (2 * h)),
                  1e-9)
          << "draw " << i << " class " << k;
    }
  }
}

TEST(CrossEntropyTest, IsStableAtHugeScores) {
  std::vector<double> slopes(3);
  EXPECT_EQ(CrossEntropy({1e4, -1e4, 0}, 1, absl::MakeSpan(slopes)), 2e4);
  EXPECT_THAT(slopes, ::testing::ElementsAre(1, -1, 0));
  EXPECT_EQ(CrossEntropy({1e4, -1e4, 0}, 0, absl::MakeSpan(slopes)), 0);
  EXPECT_THAT(slopes, ::testing::ElementsAre(0, 0, 0));
  EXPECT_DOUBLE_EQ(CrossEntropy({1e4, 1e4, 1e4}, 2, absl::MakeSpan(slopes)),
                   std::log(3));
}

}  // namespace
}  // namespace seraph
