#include "scheduler/job/fact_decision.h"

#include <string>
#include <utility>
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

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// One file, in two parts; the labels of each part.
ScannedData DataWith(std::vector<double> first, std::vector<double> second) {
  ScannedData data;
  data.train_files = {{.data = {"/data/train", 200, 1}, .labels = {}}};
  for (const auto& labels : {first, second}) {
    DatasetFacts& part = data.train_parts.emplace_back();
    const uint64_t begin = 100 * (data.train_parts.size() - 1);
    part.blocks = {{.file = 0,
                    .begin = begin,
                    .end = begin + 100,
                    .train_records = 21,
                    .validation_records = 2,
                    .bad_records = 1}};
    for (size_t i = 0; i < labels.size(); ++i) {
      part.labels.push_back(
          {.value = labels[i], .text = "", .file = 0, .line = i + 1});
    }
    part.has_keys = true;
    part.max_key = 8 + data.train_parts.size();
    part.lines = 24;
  }
  return data;
}

JobRequest RequestOf(ModelKind kind) {
  JobRequest request;
  request.spec.name = "job";
  request.spec.model.kind = kind;
  request.spec.data.train = {"train"};
  request.spec.ranks = 4;
  request.spec.train.batch_size = 5;
  request.base_directory = "/jobs";
  return request;
}

absl::StatusOr<JobPlan> Decide(const JobRequest& request, ScannedData data) {
  return DecideFacts({"id", 1}, request, 8, std::move(data));
}

// A file sorted by label: each rank alone would see one label only, and call it
// the positive class.
TEST(FactDecisionTest, LabelsAreThoseOfTheWholeDataSet) {
  const auto plan =
      Decide(RequestOf(ModelKind::kLogisticRegression), DataWith({1}, {2}));
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->labels.negative, 1);
  EXPECT_EQ(plan->labels.positive, 2);
  EXPECT_EQ(plan->job, (JobRef{"id", 1}));
}

TEST(FactDecisionTest, ClassesAreFoundAndTravelInTheSpec) {
  const auto plan =
      Decide(RequestOf(ModelKind::kSoftmax), DataWith({0, 1}, {2, 1}));
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->spec.model.classes, 3u);
  EXPECT_EQ(plan->tables.back().width, 3u);
  const auto sent = ParseJobSpec(plan->yaml, "job.yaml", {});
  ASSERT_THAT(sent, IsOk());
  EXPECT_EQ(sent->model.classes, 3u) << "or a worker would have to guess";
}

// 42 records over 4 ranks: 11 at most, in batches of 5.
TEST(FactDecisionTest, AnEpochIsAsLongAsTheLongestRank) {
  const auto plan =
      Decide(RequestOf(ModelKind::kLogisticRegression), DataWith({0}, {1}));
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->steps_per_epoch, 3u);
}

TEST(FactDecisionTest, AValidationSetIsCountedApartAndSharesTheLabels) {
  JobRequest request = RequestOf(ModelKind::kLogisticRegression);
  request.spec.data.validation = {"validation"};
  ScannedData data = DataWith({-1}, {-1});
  ScannedData validation = DataWith({-1}, {1});
  data.validation_files = validation.train_files;
  data.validation_parts = validation.train_parts;
  const auto plan = Decide(request, std::move(data));
  ASSERT_THAT(plan, IsOk());
  ASSERT_TRUE(plan->validation.has_value());
  EXPECT_EQ(plan->labels.negative, -1);
  EXPECT_EQ(plan->steps_per_epoch, 3u);
}

TEST(FactDecisionTest, WarningsTellOfBadRecords) {
  const auto plan =
      Decide(RequestOf(ModelKind::kLogisticRegression), DataWith({0}, {1}));
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(DataWarnings(*plan), ElementsAre(HasSubstr("2")));
}

TEST(FactDecisionTest, RanksMeetWhereTheEndOfAnEpochHasWork) {
  JobSpec spec;
  EXPECT_TRUE(HasEpochBarrier(spec));
  spec.sync.mode = SyncMode::kSsp;
  EXPECT_TRUE(HasEpochBarrier(spec));
  spec.sync.mode = SyncMode::kAsp;
  EXPECT_FALSE(HasEpochBarrier(spec));
  JobSpec with = spec;
  with.data.validation = {"v"};
  EXPECT_TRUE(HasEpochBarrier(with));
  with = spec;
  with.data.validation_fraction = 0.1;
  EXPECT_TRUE(HasEpochBarrier(with));
  with = spec;
  with.checkpoint.emplace();
  EXPECT_TRUE(HasEpochBarrier(with));
}

TEST(FactDecisionRefusesTest, AFeatureBeyondTheModelsKeys) {
  JobRequest request = RequestOf(ModelKind::kLogisticRegression);
  request.spec.model.keys = 10;
  EXPECT_THAT(Decide(request, DataWith({0}, {1})),
              StatusIs(kInvalid, HasSubstr("model.keys")));
  request.spec.model.keys = 11;
  EXPECT_THAT(Decide(request, DataWith({0}, {1})), IsOk());
}

TEST(FactDecisionRefusesTest, DataWithoutRecords) {
  ScannedData data = DataWith({0}, {1});
  for (DatasetFacts& part : data.train_parts) part.blocks[0].train_records = 0;
  EXPECT_THAT(
      Decide(RequestOf(ModelKind::kLogisticRegression), std::move(data)),
      StatusIs(kInvalid, HasSubstr("no record")));
}

TEST(FactDecisionRefusesTest, AFractionThatSetsNothingApart) {
  JobRequest request = RequestOf(ModelKind::kLogisticRegression);
  request.spec.data.validation_fraction = 0.05;
  EXPECT_THAT(Decide(request, DataWith({0}, {1})), IsOk());
  ScannedData data = DataWith({0}, {1});
  for (DatasetFacts& part : data.train_parts) {
    part.blocks[0].validation_records = 0;
  }
  EXPECT_THAT(Decide(request, std::move(data)),
              StatusIs(kInvalid, HasSubstr("validation_fraction")));
}

TEST(FactDecisionRefusesTest, LabelsThatAreNoClasses) {
  EXPECT_THAT(
      Decide(RequestOf(ModelKind::kLogisticRegression), DataWith({0}, {3})),
      StatusIs(kInvalid, HasSubstr("/data/train")));
}

ModelMetadata InitOf(ModelKind kind, double negative, double positive) {
  ModelMetadata init;
  init.model.kind = kind;
  init.labels.task = TaskOf(kind);
  init.labels.negative = negative;
  init.labels.positive = positive;
  init.labels.classes = 2;
  return init;
}

// A model of -1/+1 goes on with a day that has only +1, and with 1/2 it does
// not: there 1 would be the other class.
TEST(FactDecisionTest, AJobThatStartsFromAModelKeepsItsLabels) {
  const JobRequest request = RequestOf(ModelKind::kLogisticRegression);
  ScannedData data = DataWith({1}, {1});
  EXPECT_THAT(Decide(request, data), StatusIs(kInvalid)) << "which class?";
  data.init = InitOf(ModelKind::kLogisticRegression, -1, 1);
  const auto plan = Decide(request, data);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->labels, data.init->labels);

  data = DataWith({1}, {2});
  data.init = InitOf(ModelKind::kLogisticRegression, -1, 1);
  EXPECT_THAT(Decide(request, data),
              StatusIs(kInvalid, HasSubstr("/data/train:25: ")));
}

// Whoever shows fewer classes than the model has must not move them.
TEST(FactDecisionTest, ADayWithoutAClassMovesNone) {
  const JobRequest request = RequestOf(ModelKind::kSoftmax);
  ScannedData data = DataWith({1}, {2});
  ModelMetadata init;
  init.model.kind = ModelKind::kSoftmax;
  init.model.classes = 3;
  init.labels.task = TaskKind::kMulticlass;
  init.labels.first_class = 1;
  init.labels.classes = 3;
  data.init = init;
  const auto plan = Decide(request, data);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->labels.first_class, 1);
  EXPECT_EQ(plan->spec.model.classes, 3);
}

TEST(FactDecisionTest, AModelOfAnotherKindIsNoStart) {
  ScannedData data = DataWith({-1}, {1});
  data.init = InitOf(ModelKind::kLogisticRegression, -1, 1);
  EXPECT_THAT(Decide(RequestOf(ModelKind::kSvm), data),
              StatusIs(kInvalid, HasSubstr("logistic_regression")));
}

TEST(JobPlanTest, PathsStartAtTheJobFilesFolder) {
  JobSpec spec;
  spec.output_directory = "out";
  EXPECT_EQ(ModelPath(spec, "/jobs/mine"), "/jobs/mine/out/model");
  spec.output_directory = "../elsewhere/";
  EXPECT_EQ(RecordPath(spec, "/jobs/mine"), "/jobs/elsewhere/result.json");
  spec.output_directory = "/abs";
  EXPECT_EQ(ModelPath(spec, "/jobs/mine"), "/abs/model");
}

}  // namespace
}  // namespace seraph
