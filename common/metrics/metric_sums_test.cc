#include "common/metrics/metric_sums.h"

#include <cmath>
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
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Report values are one division away from the sums.
constexpr double kTolerance = 1e-14;

MATCHER_P2(Metric, name, value, "") {
  *result_listener << arg.first << " = " << arg.second;
  return arg.first == name && std::abs(arg.second - value) < kTolerance;
}

// Scores and labels: 3 true and 1 false positive, 2 true and 4 false negatives.
MetricSums TenBinaryExamples() {
  MetricSums sums;
  for (int i = 0; i < 3; ++i) AddBinaryExample(2.0, true, 0.5, 0.25, &sums);
  AddBinaryExample(0.1, false, 0.5, 0.25, &sums);
  for (int i = 0; i < 2; ++i) AddBinaryExample(-1, false, 0.5, 0.25, &sums);
  for (int i = 0; i < 4; ++i) AddBinaryExample(-9, true, 0.5, 0.25, &sums);
  return sums;
}

TEST(MetricSumsTest, ReportsABinaryClassifier) {
  EXPECT_THAT(
      ReportMetrics(ModelKind::kLogisticRegression, TenBinaryExamples(),
                    /*auc=*/0.75),
      ElementsAre(Metric("log_loss", 0.25), Metric("auc", 0.75),
                  Metric("accuracy", 0.5), Metric("precision", 0.75),
                  Metric("recall", 3.0 / 7.0),
                  Metric("f1", 2 * 0.75 * (3.0 / 7.0) / (0.75 + 3.0 / 7.0))));
}

TEST(MetricSumsTest, ReportsTheLossOfAnSvmAndNoAucThatIsUndefined) {
  EXPECT_THAT(
      ReportMetrics(ModelKind::kSvm, TenBinaryExamples(), std::nullopt),
      ElementsAre(Metric("loss", 0.5), Metric("accuracy", 0.5),
                  Metric("precision", 0.75), Metric("recall", 3.0 / 7.0),
                  Metric("f1", 6.0 / 11.0)));
}

TEST(MetricSumsTest, AScoreOfZeroIsANegativePrediction) {
  MetricSums sums;
  AddBinaryExample(0.0, true, 0, std::nullopt, &sums);
  AddBinaryExample(0.0, false, 0, std::nullopt, &sums);
  EXPECT_EQ(sums.false_negatives, 1);
  EXPECT_EQ(sums.true_negatives, 1);
  EXPECT_EQ(sums.correct, 1);
}

TEST(MetricSumsTest, WithoutPositivesTheRatiosAreZeroAndNotNan) {
  MetricSums sums;
  AddBinaryExample(-1, false, 0.1, 0.1, &sums);
  EXPECT_THAT(
      ReportMetrics(ModelKind::kLogisticRegression, sums, std::nullopt),
      ElementsAre(Pair("log_loss", 0.1), Pair("accuracy", 1),
                  Pair("precision", 0), Pair("recall", 0), Pair("f1", 0)));
}

TEST(MetricSumsTest, LogLossIsClippedAndTheLossIsNot) {
  MetricSums sums;
  AddBinaryExample(-1e4, true, 1e4, 1e4, &sums);
  EXPECT_DOUBLE_EQ(sums.log_loss, -std::log(1e-15));
  EXPECT_EQ(sums.loss, 1e4);

  sums = {};
  AddBinaryExample(1e4, true, 0, 0, &sums);
  EXPECT_DOUBLE_EQ(sums.log_loss, -std::log1p(-1e-15));
}

TEST(MetricSumsTest, ReportsAMulticlassModelAndTakesTheFirstOfEqualScores) {
  MetricSums sums;
  AddMulticlassExample({1.0, 3.0, 2.0}, 1, 0.5, &sums);
  AddMulticlassExample({1.0, 1.0, 0.0}, 0, 0.25, &sums);
  AddMulticlassExample({0.0, 1.0, 1.0}, 1, 0.25, &sums);
  AddMulticlassExample({0.0, 0.0, 9.0}, 0, 1000, &sums);
  EXPECT_THAT(ReportMetrics(ModelKind::kSoftmax, sums, std::nullopt),
              ElementsAre(Metric("log_loss", (1 - std::log(1e-15)) / 4),
                          Metric("accuracy", 0.75)));
}

TEST(MetricSumsTest, ReportsARegression) {
  // Labels 1, 2, 6 (mean 3, spread 14), errors 1, -1, 2.
  MetricSums sums;
  AddRegressionExample(2, 1, 0.5, &sums);
  AddRegressionExample(1, 2, 0.5, &sums);
  AddRegressionExample(8, 6, 2.0, &sums);
  EXPECT_THAT(
      ReportMetrics(ModelKind::kLinearRegression, sums, std::nullopt),
      ElementsAre(Metric("loss", 1.0), Metric("rmse", std::sqrt(2.0)),
                  Metric("mae", 4.0 / 3.0), Metric("r2", 1 - 6.0 / 14.0)));
}

TEST(MetricSumsTest, EqualLabelsHaveNoR2) {
  MetricSums sums;
  for (int i = 0; i < 1000; ++i) AddRegressionExample(0.3, 0.1, 0, &sums);
  EXPECT_THAT(ReportMetrics(ModelKind::kLinearRegression, sums, std::nullopt),
              ElementsAre(Pair("loss", 0), Pair("rmse", ::testing::_),
                          Pair("mae", ::testing::_)));
}

TEST(MetricSumsTest, NothingIsReportedWithoutExamples) {
  MetricSums sums;
  sums.skipped = 5;
  EXPECT_THAT(ReportMetrics(ModelKind::kSvm, sums, 0.5), IsEmpty());
}

// Every field its own value, so that a swapped or forgotten one shows.
MetricSums Distinct() {
  std::vector<double> values(MetricSums::kFields);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i + 0.5;
  return *MetricSums::FromArray(values);
}

TEST(MetricSumsTest, TheArrayHoldsEveryFieldInOrder) {
  const MetricSums sums = Distinct();
  EXPECT_EQ(sums.examples, 0.5);
  EXPECT_EQ(sums.loss, 3.5);
  EXPECT_EQ(sums.true_positives, 6.5);
  EXPECT_EQ(sums.label_squared, 13.5);
  const auto values = sums.ToArray();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i + 0.5);
  const absl::StatusOr<MetricSums> back = MetricSums::FromArray(values);
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(*back, sums);
}

TEST(MetricSumsTest, AddAddsEveryField) {
  MetricSums sums = Distinct();
  sums.Add(Distinct());
  const auto values = sums.ToArray();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], 2 * i + 1.0);
}

TEST(MetricSumsTest, AShorterArrayLeavesTheRestZeroAndALongerOneIsRefused) {
  const absl::StatusOr<MetricSums> sums = MetricSums::FromArray({7.0});
  ASSERT_THAT(sums, IsOk());
  EXPECT_EQ(sums->examples, 7);
  EXPECT_EQ(sums->skipped, 0);
  EXPECT_THAT(
      MetricSums::FromArray(std::vector<double>(MetricSums::kFields + 1)),
      StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(MetricSums::FromArray({std::numeric_limits<double>::infinity()}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(MetricSumsTest, EveryNameIsReportedAndHasADirection) {
  MetricSums sums = TenBinaryExamples();
  AddRegressionExample(1, 2, 1, &sums);
  for (absl::string_view kind : ModelKindNames()) {
    const ModelKind model = *ParseModelKind(kind);
    const auto report = ReportMetrics(model, sums, 0.5);
    const std::vector<absl::string_view> names = MetricNames(model);
    ASSERT_EQ(report.size(), names.size()) << kind;
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(report[i].first, names[i]) << kind;
    }
  }
  EXPECT_TRUE(LargerIsBetter("auc"));
  EXPECT_FALSE(LargerIsBetter("log_loss"));
  EXPECT_FALSE(LargerIsBetter("rmse"));
}

}  // namespace
}  // namespace seraph
