#include "common/job/job_spec.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/job/job_text.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::kFullJob;
using ::seraph::testing::kMinimalJob;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobSpec Parse(const std::string& text,
              const std::vector<std::string>& sets = {}) {
  const auto job = ParseJobSpec(text, "job.yaml", sets);
  EXPECT_THAT(job, IsOk());
  return job.value_or(JobSpec{});
}

// What is not in a minimal file is as the structs say, apart from the loss,
// which is made explicit.
TEST(JobSpecTest, ASmallFileGetsTheDefaults) {
  JobSpec want;
  want.name = "small";
  want.model.kind = ModelKind::kLogisticRegression;
  want.model.loss = LossKind::kLog;
  want.data.format = DataFormat::kLibsvm;
  want.data.train = {"train.svm"};
  EXPECT_TRUE(Parse(kMinimalJob) == want) << ToYaml(Parse(kMinimalJob));

  EXPECT_EQ(want.seed, 1);
  EXPECT_EQ(want.ranks, 1);
  EXPECT_EQ(want.model.bias, BiasKind::kFree);
  EXPECT_EQ(want.data.options.on_bad_record, BadRecordAction::kFail);
  EXPECT_EQ(want.train.on_non_finite, NonFiniteAction::kFail);
  EXPECT_EQ(want.sync.mode, SyncMode::kBsp);
  EXPECT_EQ(want.sync.combine, Combine::kMean);
  EXPECT_EQ(want.tables.partitions, std::nullopt);
}

TEST(JobSpecTest, ReadsEveryValue) {
  const JobSpec job = Parse(kFullJob);
  EXPECT_EQ(job.name, "clicks-2.0");
  EXPECT_EQ(job.seed, 18446744073709551615u);
  EXPECT_EQ(job.ranks, 6);

  EXPECT_EQ(job.model.kind, ModelKind::kLinearRegression);
  EXPECT_EQ(job.model.keys, 4096);
  EXPECT_EQ(job.model.bias, BiasKind::kRegularized);
  EXPECT_EQ(job.model.loss, LossKind::kHuber);
  EXPECT_EQ(job.model.huber_delta, 0.5);

  EXPECT_EQ(job.data.format, DataFormat::kCsv);
  EXPECT_THAT(job.data.train,
              ElementsAre("data/day-*.csv", "data/last day.csv.zst"));
  EXPECT_EQ(job.data.validation_fraction, 0.05);
  const DataOptions& options = job.data.options;
  EXPECT_EQ(options.label_column, "clicks");
  EXPECT_EQ(options.delimiter, '\t');
  EXPECT_EQ(options.header, CsvHeader::kYes);
  EXPECT_EQ(options.skip_lines, 2);
  EXPECT_THAT(options.columns, ElementsAre("age", "7", "-1"));
  EXPECT_THAT(options.categorical, ElementsAre("site"));
  EXPECT_EQ(options.hash_bits, 11);
  EXPECT_THAT(options.missing, ElementsAre("", "n/a"));
  EXPECT_EQ(options.block_bytes, 1 << 20);
  EXPECT_EQ(options.group_bytes, 1 << 26);
  EXPECT_EQ(options.max_record_bytes, 1 << 16);
  EXPECT_EQ(options.on_bad_record, BadRecordAction::kSkip);
  EXPECT_THAT(options.Validate(), IsOk());

  EXPECT_EQ(job.train.epochs, 3);
  EXPECT_EQ(job.train.batch_size, 512);
  EXPECT_FALSE(job.train.shuffle);
  const OptimizerSpec& optimizer = job.train.optimizer;
  EXPECT_EQ(optimizer.kind, OptimizerKind::kAdamw);
  EXPECT_EQ(optimizer.learning_rate, 2e-3);
  EXPECT_EQ(optimizer.beta1, 0.8);
  EXPECT_EQ(optimizer.beta2, 0.99);
  EXPECT_EQ(optimizer.epsilon, 1e-7);
  EXPECT_EQ(optimizer.weight_decay, 0.1);
  EXPECT_EQ(optimizer.l1, 1e-6);
  EXPECT_EQ(optimizer.l2, 1e-5);
  EXPECT_EQ(optimizer.clip_value, 3);
  EXPECT_EQ(job.train.clip_norm, 10);
  EXPECT_EQ(job.train.schedule.kind, ScheduleKind::kCosine);
  EXPECT_EQ(job.train.schedule.total_steps, 5000);
  EXPECT_EQ(job.train.schedule.min_factor, 0.1);
  EXPECT_EQ(job.train.schedule.warmup_steps, 100);
  EXPECT_EQ(job.train.on_non_finite, NonFiniteAction::kSkip);
  ASSERT_TRUE(job.train.stop.has_value());
  EXPECT_EQ(job.train.stop->metric, "rmse");
  EXPECT_EQ(job.train.stop->patience, 4);

  EXPECT_EQ(job.sync.mode, SyncMode::kSsp);
  EXPECT_EQ(job.sync.staleness, 3);
  EXPECT_EQ(job.sync.combine, Combine::kSum);
  EXPECT_EQ(job.sync.pipeline, 2);
  EXPECT_EQ(job.tables.partitions, 64);
  ASSERT_TRUE(job.checkpoint.has_value());
  EXPECT_EQ(job.checkpoint->directory, "ckpt");
  EXPECT_EQ(job.checkpoint->every_epochs, 2);
  EXPECT_EQ(job.checkpoint->every_clocks, 500);
  EXPECT_EQ(job.checkpoint->keep, 4);
  EXPECT_EQ(job.tables.replicas, 3);
  EXPECT_EQ(job.tables.min_in_sync, 2);
  EXPECT_EQ(job.train.stall_timeout, absl::Seconds(90));
  EXPECT_EQ(job.init_model, "../old/model");
  EXPECT_EQ(job.output_directory, "/tmp/out dir");
}

TEST(JobSpecTest, TheCanonicalTextReadsBackAndIsItsOwn) {
  for (const char* text : {kMinimalJob, kFullJob}) {
    const JobSpec job = Parse(text);
    const std::string canonical = ToYaml(job);
    EXPECT_TRUE(Parse(canonical) == job) << canonical;
    EXPECT_EQ(ToYaml(Parse(canonical)), canonical);
  }
  EXPECT_THAT(ToYaml(Parse(kMinimalJob)), HasSubstr("  epsilon: 1e-10\n"))
      << "defaults are written too";
}

// The values that ask for what nothing of the kind does may all be there.
TEST(JobSpecTest, NeutralValuesContradictNothing) {
  const JobSpec job = Parse(absl::StrCat(
      kMinimalJob,
      "train: {optimizer: {l1: 0, l2: 0}, schedule: {kind: constant}}\n"
      "sync: {mode: bsp, staleness: 0, combine: mean, pipeline: 0}\n"
      "tables: {partitions: 8, replicas: 1, min_in_sync: 1, scramble: false,\n"
      "  admit_after: 1, expire_after_epochs: 0, transport: float32}\n"
      "init: {}\n"));
  EXPECT_EQ(job.tables.partitions, 8);
}

TEST(JobSpecTest, SaysWhereValuesWereGiven) {
  const auto job =
      ParseJobFile(kMinimalJob, "dir/job.yaml",
                   std::vector<std::string>{"data.validation=[a.t]", "seed=2"});
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->origins.at("data.train"), "dir/job.yaml:3:31");
  EXPECT_EQ(job->origins.at("data.train[0]"), "dir/job.yaml:3:32");
  EXPECT_EQ(job->origins.at("data.validation[0]"), "--set data.validation");
  EXPECT_EQ(job->origins.at("seed"), "--set seed");
  EXPECT_EQ(job->origins.count("ranks"), 0);
}

TEST(JobSpecTest, OverridesTakeTheFilesPlace) {
  const JobSpec job =
      Parse(kFullJob, {"train.optimizer={kind: ftrl, l1: 1}", "sync.mode=asp",
                       "sync.staleness=0", "data.validation_fraction=",
                       "train.stop=", "ranks=1", "ranks=2"});
  EXPECT_EQ(job.train.optimizer.kind, OptimizerKind::kFtrl);
  EXPECT_EQ(job.train.optimizer.l1, 1);
  EXPECT_EQ(job.train.clip_norm, 0);
  EXPECT_EQ(job.sync.mode, SyncMode::kAsp);
  EXPECT_FALSE(job.data.HasValidation());
  EXPECT_EQ(job.train.stop, std::nullopt);
  EXPECT_EQ(job.ranks, 2);
}

TEST(JobSpecTest, HuberDeltaAloneMeansHuber) {
  const auto linear = [](const std::string& keys) {
    return absl::StrReplaceAll(
        kMinimalJob,
        {{"logistic_regression", absl::StrCat("linear_regression", keys)}});
  };
  EXPECT_EQ(Parse(linear("")).model.loss, LossKind::kSquared);
  const JobSpec job = Parse(linear(", huber_delta: 2"));
  EXPECT_EQ(job.model.loss, LossKind::kHuber);
  EXPECT_EQ(job.model.huber_delta, 2);
  EXPECT_TRUE(Parse(ToYaml(job)) == job);
}

TEST(JobSpecTest, TheFirstMetricIsWatchedUnlessSaid) {
  const std::string stop =
      "train: {stop: {}}\n"
      "sync: {mode: asp, pipeline: 1}\n";
  const std::string text = absl::StrReplaceAll(absl::StrCat(kMinimalJob, stop),
                                               {{"]}", "], validation: [v]}"}});
  EXPECT_EQ(Parse(text).train.stop->metric, "log_loss");
  EXPECT_EQ(Parse(text).train.stop->patience, 2);
  EXPECT_EQ(Parse(text, {"model.kind=svm"}).train.stop->metric, "loss");
}

}  // namespace
}  // namespace seraph
