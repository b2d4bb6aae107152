#include "client/predict/predictor.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/exit_code.h"
#include "client/predict/prediction_text.h"
#include "client/predict/score_runs.h"
#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// weights: key 1 -> 1, key 3 -> -2; bias 0.5; labels -1 and 1.
LoadedModel Linear(ModelKind kind) {
  LoadedModel model;
  model.metadata.model.kind = kind;
  model.metadata.labels.task = TaskOf(kind);
  model.metadata.labels.negative = -1;
  model.metadata.labels.positive = 1;
  model.metadata.labels.classes = 2;
  model.tables = {
      {{"bias", TableKind::kDense, 1, 1}, {0}, {0.5f}},
      {{"weights", TableKind::kSparse, 0, 1}, {1, 3}, {1.0f, -2.0f}}};
  return model;
}

// Three classes over two dense features; classes are the labels 1, 2, 3.
LoadedModel Softmax() {
  LoadedModel model;
  model.metadata.model.kind = ModelKind::kSoftmax;
  model.metadata.model.keys = 2;
  model.metadata.model.classes = 3;
  model.metadata.labels.task = TaskKind::kMulticlass;
  model.metadata.labels.first_class = 1;
  model.metadata.labels.classes = 3;
  model.tables = {
      {{"bias", TableKind::kDense, 1, 3}, {0}, {0, 0, 0}},
      {{"weights", TableKind::kDense, 2, 3}, {0, 1}, {1, 0, 0, 0, 2, 0}}};
  return model;
}

class PredictorTest : public ::testing::Test {
 protected:
  PredictorTest() { options_.out = folder_.Path("out"); }

  absl::StatusOr<PredictSummary> Run(const LoadedModel& model,
                                     const std::string& data) {
    options_.data = folder_.Write("data", data);
    return Predict(model, options_, interrupt_, [](double, uint64_t) {});
  }

  std::vector<std::string> Lines() const {
    return absl::StrSplit(folder_.Read("out"), '\n');
  }

  const TempFolder folder_;
  Interrupt interrupt_;
  PredictOptions options_;
};

double Sigmoid(double score) { return 1 / (1 + std::exp(-score)); }

TEST_F(PredictorTest, ProbabilitiesAndMetricsOfLabelledExamples) {
  const absl::StatusOr<PredictSummary> summary =
      Run(Linear(ModelKind::kLogisticRegression),
          "1 1:1 9:7\n-1 3:1\n-1 1:0.25\n1 2:1\n");
  ASSERT_THAT(summary, IsOk());
  const std::vector<std::string> lines = Lines();
  const std::vector<double> scores = {1.5, -1.5, 0.75, 0.5};
  ASSERT_EQ(lines.size(), 5);
  for (size_t i = 0; i < scores.size(); ++i) {
    EXPECT_NEAR(std::stod(lines[i]), Sigmoid(scores[i]), 1e-12);
  }
  EXPECT_EQ(lines[4], "");

  EXPECT_EQ(summary->predictions, 4);
  EXPECT_EQ(summary->labelled, 4);
  std::map<std::string, double> metrics(summary->metrics.begin(),
                                        summary->metrics.end());
  EXPECT_EQ(metrics["accuracy"], 0.75);
  EXPECT_EQ(metrics["auc"], 0.75);
  EXPECT_NEAR(metrics["log_loss"],
              -(std::log(Sigmoid(1.5)) + std::log(1 - Sigmoid(-1.5)) +
                std::log(1 - Sigmoid(0.75)) + std::log(Sigmoid(0.5))) /
                  4,
              1e-12);
}

TEST_F(PredictorTest, ExamplesWithoutLabelsGiveNoMetrics) {
  const absl::StatusOr<PredictSummary> summary =
      Run(Linear(ModelKind::kSvm), "1:1\n3:1\n");
  ASSERT_THAT(summary, IsOk());
  EXPECT_THAT(Lines(), ElementsAre("1.5", "-1.5", ""));
  EXPECT_EQ(summary->labelled, 0);
  EXPECT_THAT(summary->metrics, IsEmpty());
}

TEST_F(PredictorTest, ValuesOfARegression) {
  const absl::StatusOr<PredictSummary> summary =
      Run(Linear(ModelKind::kLinearRegression), "2.5 1:1\n-1.5 3:1\n");
  ASSERT_THAT(summary, IsOk());
  EXPECT_THAT(Lines(), ElementsAre("1.5", "-1.5", ""));
  std::map<std::string, double> metrics(summary->metrics.begin(),
                                        summary->metrics.end());
  EXPECT_NEAR(metrics["rmse"], std::sqrt(0.5), 1e-12);
}

TEST_F(PredictorTest, ClassesHaveTheNamesOfTheLabels) {
  const absl::StatusOr<PredictSummary> summary =
      Run(Softmax(), "1 1:1\n2 2:1\n3 2:1\n");
  ASSERT_THAT(summary, IsOk());
  EXPECT_THAT(Lines(), ElementsAre("1", "2", "2", ""));
  std::map<std::string, double> metrics(summary->metrics.begin(),
                                        summary->metrics.end());
  EXPECT_NEAR(metrics["accuracy"], 2.0 / 3, 1e-12);
}

TEST_F(PredictorTest, ProbabilitiesOfAllClasses) {
  options_.probabilities = true;
  ASSERT_THAT(Run(Softmax(), "1 1:1\n"), IsOk());
  const std::vector<std::string> cells = absl::StrSplit(Lines()[0], ' ');
  ASSERT_EQ(cells.size(), 4);
  EXPECT_EQ(cells[0], "1");
  const double sum = std::exp(1.0) + 2;
  EXPECT_NEAR(std::stod(cells[1]), std::exp(1.0) / sum, 1e-12);
  EXPECT_NEAR(std::stod(cells[2]), 1 / sum, 1e-12);
}

TEST_F(PredictorTest, ClassesThatAreTexts) {
  LoadedModel model = Softmax();
  model.metadata.labels.texts = {"ant", "bee", "cow"};
  options_.format = DataFormat::kCsv;
  options_.options.header = CsvHeader::kNo;
  const absl::StatusOr<PredictSummary> summary =
      Run(model, "bee,0,1\ncow,1,0\n?,0,1\nelk,1,0\n");
  ASSERT_THAT(summary, IsOk());
  EXPECT_THAT(Lines(), ElementsAre("bee", "ant", "bee", "ant", ""));
  EXPECT_EQ(summary->labelled, 2);
  EXPECT_THAT(summary->warnings,
              ElementsAre(AllOf(HasSubstr("1 labels are none of the model's"),
                                HasSubstr("data:4:"))));
}

TEST_F(PredictorTest, TheResultDoesNotDependOnTheBlocks) {
  std::string data;
  for (uint64_t i = 0; i < 500; ++i) {
    absl::StrAppend(&data, Draw(1, {i, 0}) % 2 == 0 ? "1" : "-1",
                    " 1:", Draw(1, {i, 1}) % 10, " 3:", Draw(1, {i, 2}) % 10,
                    "\n");
  }
  const absl::StatusOr<PredictSummary> whole =
      Run(Linear(ModelKind::kLogisticRegression), data);
  ASSERT_THAT(whole, IsOk());
  const std::string text = folder_.Read("out");
  options_.block_bytes = 100;
  options_.max_scores = 7;
  const absl::StatusOr<PredictSummary> blocks =
      Run(Linear(ModelKind::kLogisticRegression), data);
  ASSERT_THAT(blocks, IsOk());
  EXPECT_EQ(folder_.Read("out"), text);
  ASSERT_EQ(blocks->metrics.size(), whole->metrics.size());
  for (size_t i = 0; i < whole->metrics.size(); ++i) {
    EXPECT_EQ(blocks->metrics[i].first, whole->metrics[i].first);
    // Sums of doubles, in another order.
    EXPECT_NEAR(blocks->metrics[i].second, whole->metrics[i].second, 1e-12);
  }
  EXPECT_EQ(blocks->predictions, 500);
}

TEST_F(PredictorTest, ABadRecordIsNamedAndLeavesNoOutput) {
  options_.block_bytes = 64;
  const std::string data = std::string(20, '#') + "\n1 1:1\n1 1:1\n1 x:1\n";
  const absl::Status status = Run(Linear(ModelKind::kSvm), data).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUsage);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("data:4:")));
  EXPECT_THAT(folder_.Names(), ElementsAre("data"));

  options_.options.on_bad_record = BadRecordAction::kSkip;
  const absl::StatusOr<PredictSummary> summary =
      Run(Linear(ModelKind::kSvm), data);
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(summary->predictions, 2);
  EXPECT_EQ(summary->bad_records, 1);
}

TEST_F(PredictorTest, AKeyBeyondTheModelIsNamed) {
  const absl::Status status = Run(Softmax(), "1 3:1\n").status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("data:1:"));
}

TEST_F(PredictorTest, AModelFileWithOtherTablesIsRefused) {
  LoadedModel model = Softmax();
  model.tables.pop_back();
  const absl::Status status = Run(model, "1 1:1\n").status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no table 'weights'"));
}

TEST_F(PredictorTest, AMissingFileAndAnInterrupt) {
  options_.data = folder_.Path("none");
  absl::Status status =
      Predict(Softmax(), options_, interrupt_, [](double, uint64_t) {
      }).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUsage);
  EXPECT_THAT(std::string(status.message()), HasSubstr("none"));

  interrupt_.Trigger();
  status = Run(Softmax(), "1 1:1\n").status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kInterrupted);
  EXPECT_THAT(folder_.Names(), ElementsAre("data"));
}

TEST(ScoreRunsTest, IsTheAucOfAllPairs) {
  constexpr uint64_t kSeed = 5;
  ScoreRuns runs(/*max_scores=*/10);
  std::vector<double> positives, negatives;
  for (uint64_t i = 0; i < 1000; ++i) {
    const double score = Draw(kSeed, {i, 0}) % 300;
    const bool positive = Draw(kSeed, {i, 1}) % 3 == 0;
    (positive ? positives : negatives).push_back(score);
    runs.Add(score, positive);
  }
  double won = 0;
  for (const double p : positives) {
    for (const double n : negatives) won += p > n ? 1 : p == n ? 0.5 : 0;
  }
  const absl::StatusOr<std::optional<double>> auc = runs.Finish();
  ASSERT_THAT(auc, IsOk());
  ASSERT_TRUE(auc->has_value());
  EXPECT_NEAR(**auc, won / (positives.size() * negatives.size()), 1e-12);
}

TEST(ScoreRunsTest, HasNoValueForOneClass) {
  ScoreRuns runs(10);
  runs.Add(1, true);
  const absl::StatusOr<std::optional<double>> auc = runs.Finish();
  ASSERT_THAT(auc, IsOk());
  EXPECT_FALSE(auc->has_value());
}

}  // namespace
}  // namespace seraph
