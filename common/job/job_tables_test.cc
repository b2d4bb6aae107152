#include "common/job/job_tables.h"

#include "common/table/partitioning.h"
#include "common/table/table_validation.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;

JobSpec Job() {
  JobSpec job;
  job.name = "job";
  job.seed = 7;
  job.data.train = {"x"};
  job.train.optimizer = DefaultOptimizer(OptimizerKind::kAdamw);
  job.train.optimizer.l1 = 0.25;
  job.train.optimizer.l2 = 0.5;
  job.train.schedule.warmup_steps = 3;
  return job;
}

TEST(JobTablesTest, AFreeBiasIsNeitherShrunkNorDecayed) {
  const JobSpec job = Job();
  const auto tables = JobTables(job, std::nullopt, 8);
  ASSERT_THAT(tables, IsOk());
  ASSERT_EQ(tables->size(), 2);
  const TableSpec& bias = (*tables)[0];
  EXPECT_EQ(bias.name, "bias");
  EXPECT_EQ(bias.optimizer.kind, OptimizerKind::kAdamw);
  EXPECT_EQ(bias.optimizer.learning_rate, job.train.optimizer.learning_rate);
  EXPECT_EQ(bias.optimizer.l1, 0);
  EXPECT_EQ(bias.optimizer.l2, 0);
  EXPECT_EQ(bias.optimizer.weight_decay, 0);
  const TableSpec& weights = (*tables)[1];
  EXPECT_EQ(weights.name, "weights");
  EXPECT_EQ(weights.optimizer, job.train.optimizer);
  for (const TableSpec& table : *tables) {
    EXPECT_EQ(table.seed, 7);
    EXPECT_EQ(table.schedule, job.train.schedule);
    EXPECT_THAT(ValidateTable(table), IsOk());
  }
}

TEST(JobTablesTest, ARegularizedBiasIsLikeAWeight) {
  JobSpec job = Job();
  job.model.bias = BiasKind::kRegularized;
  const auto tables = JobTables(job, std::nullopt, 8);
  ASSERT_THAT(tables, IsOk());
  EXPECT_EQ((*tables)[0].optimizer, job.train.optimizer);
  job.model.bias = BiasKind::kNone;
  EXPECT_EQ(JobTables(job, std::nullopt, 8)->size(), 1);
}

TEST(JobTablesTest, PartitionsAreTheJobsElseTheClustersAndNeverTooMany) {
  JobSpec job = Job();
  EXPECT_EQ((*JobTables(job, std::nullopt, 8))[1].partitions, 8);
  job.tables.partitions = 64;
  EXPECT_EQ((*JobTables(job, std::nullopt, 8))[1].partitions, 64);
  EXPECT_EQ((*JobTables(job, std::nullopt, 8))[0].partitions, 1)
      << "a bias has one key";
  job.model.keys = 10;
  const TableSpec weights = (*JobTables(job, std::nullopt, 8))[1];
  EXPECT_EQ(weights.kind, TableKind::kDense);
  EXPECT_EQ(weights.partitions, Partitioning(weights).blocks());
  EXPECT_EQ(weights.partitions, 10);
}

TEST(JobTablesTest, OnlySparseTablesAreScrambled) {
  JobSpec job = Job();
  job.tables.scramble = true;
  const auto tables = JobTables(job, std::nullopt, 8);
  ASSERT_THAT(tables, IsOk());
  EXPECT_FALSE((*tables)[0].scramble);
  EXPECT_TRUE((*tables)[1].scramble);
}

TEST(JobTablesTest, SoftmaxTakesItsClassesFromFileOrData) {
  JobSpec job = Job();
  job.model.kind = ModelKind::kSoftmax;
  EXPECT_THAT(JobTables(job, std::nullopt, 8),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the number of classes is not known")));
  EXPECT_EQ((*JobTables(job, 10, 8))[1].width, 10);
  job.model.classes = 12;
  EXPECT_EQ((*JobTables(job, std::nullopt, 8))[1].width, 12);
  EXPECT_EQ((*JobTables(job, 10, 8))[1].width, 12)
      << "a class may be absent from the data";
  EXPECT_THAT(JobTables(job, 13, 8),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the data has 13 classes, model.classes is 12"));
}

TEST(JobTablesTest, ClassesOfTheDataMeanNothingToOtherModels) {
  const auto tables = JobTables(Job(), 2, 8);
  ASSERT_THAT(tables, IsOk());
  EXPECT_EQ((*tables)[1].width, 1);
}

}  // namespace
}  // namespace seraph
