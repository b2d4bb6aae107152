// What a job file may not say, with the exact messages.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/job/job_spec.h"
#include "common/job/job_text.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::kFullJob;
using ::seraph::testing::kMinimalJob;
using ::testing::HasSubstr;

std::string Complaints(const std::string& text,
                       const std::vector<std::string>& sets = {}) {
  const auto job = ParseJobSpec(text, "job.yaml", sets);
  EXPECT_EQ(job.status().code(), job.ok() ? absl::StatusCode::kOk
                                          : absl::StatusCode::kInvalidArgument);
  return std::string(job.status().message());
}

struct Bad {
  std::string name;
  std::vector<std::string> sets;  // On the minimal job.
  std::string want;               // Behind "--set FIRST PATH: ".
};

class JobSpecRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(JobSpecRefuses, WithTheReason) {
  const std::string& set = GetParam().sets.front();
  const std::string path = set.substr(0, set.find('='));
  EXPECT_EQ(Complaints(kMinimalJob, GetParam().sets),
            absl::StrCat("--set ", path, ": ", GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Job, JobSpecRefuses,
    ::testing::Values(
        Bad{"NameWithBlank",
            {"name=a b"},
            "'a b' is not a name: letters, digits, - and ., at most 100, a "
            "letter or digit first"},
        Bad{"NameThatClimbs",
            {"name=../x"},
            "'../x' is not a name: letters, digits, - and ., at most 100, a "
            "letter or digit first"},
        Bad{"NegativeSeed", {"seed=-1"}, "-1 is not >= 0"},
        Bad{"NoRanks", {"ranks=0"}, "0 is not in 1..10000"},
        Bad{"ManyRanks", {"ranks=10001"}, "10001 is not in 1..10000"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Model, JobSpecRefuses,
    ::testing::Values(
        Bad{"Misspelt",
            {"model.kind=logistic_regresion"},
            "unknown value 'logistic_regresion' (did you mean "
            "'logistic_regression'?); known are linear_regression, "
            "logistic_regression, svm, softmax"},
        Bad{"Planned",
            {"model.kind=deepfm"},
            "'deepfm' is not in this version; it has linear_regression, "
            "logistic_regression, svm, softmax"},
        Bad{"NoKeys", {"model.keys=0"}, "0 is not >= 1"},
        Bad{"Bias",
            {"model.bias=frei"},
            "unknown value 'frei' (did you mean 'free'?); known are free, "
            "regularized, none"},
        Bad{"ClassesOfABinaryModel",
            {"model.classes=3"},
            "not used by logistic_regression"},
        Bad{"OneClass",
            {"model.classes=1", "model.kind=softmax"},
            "1 is not in 2..1048576"},
        Bad{"LossOfAnotherKind",
            {"model.loss=hinge"},
            "'hinge' does not fit logistic_regression, which has log"},
        Bad{"DeltaOfALogLoss",
            {"model.huber_delta=1"},
            "not used by the loss 'log'"},
        Bad{"DeltaWithTheSquaredLoss",
            {"model.huber_delta=1", "model.kind=linear_regression",
             "model.loss=squared"},
            "not used by the loss 'squared'"},
        Bad{"NoDelta",
            {"model.huber_delta=0", "model.kind=linear_regression"},
            "0 is not > 0"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Data, JobSpecRefuses,
    ::testing::Values(
        Bad{"Format",
            {"data.format=libsv"},
            "unknown value 'libsv' (did you mean 'libsvm'?); known are libsvm, "
            "libffm, csv, idx"},
        Bad{"PlannedFormat",
            {"data.format=criteo"},
            "'criteo' is not in this version; it has libsvm, libffm, csv, idx"},
        Bad{"NothingToTrainOn", {"data.train=[]"}, "must not be empty"},
        Bad{"OneFileWithoutBrackets",
            {"data.train=a"},
            "expected a list of text, got 'a': put it in brackets"},
        Bad{"EmptyPath", {"data.train=[a, '']"}, "has an empty path"},
        Bad{"AllForValidation",
            {"data.validation_fraction=1"},
            "1 is not in [0, 1)"},
        Bad{"TwoValidations",
            {"data.validation_fraction=0.1", "data.validation=[a]"},
            "contradicts data.validation: give one of them"},
        Bad{"OptionOfAnotherFormat",
            {"data.options.label_column=1"},
            "not used by the format 'libsvm'"},
        Bad{"IndexBase", {"data.options.index_base=2"}, "2 is not in 0..1"},
        Bad{"TinyBlocks",
            {"data.options.block_bytes=63"},
            "is neither 0 nor at least 64B"},
        Bad{"Delimiter",
            {"data.options.delimiter=;;", "data.format=csv"},
            "';;' is not one character that can stand between numbers, nor tab "
            "or space"},
        Bad{"DenseCategories",
            {"data.options.hash_bits=0", "data.options.categorical=[a]",
             "data.format=csv", "model.keys=100"},
            "must be at least 1: model.keys makes dense tables, and "
            "`categorical` needs keys in them"},
        Bad{"DarkPixels",
            {"data.options.scale=0", "data.format=idx"},
            "must not be 0"},
        Bad{"BadRecords",
            {"data.on_bad_record=ignore"},
            "unknown value 'ignore'; known are fail, skip"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Train, JobSpecRefuses,
    ::testing::Values(
        Bad{"NoEpochs", {"train.epochs=0"}, "0 is not in 1..1000000"},
        Bad{"EmptyBatches", {"train.batch_size=0"}, "0 is not in 1..16777216"},
        Bad{"Optimizer",
            {"train.optimizer.kind=adagard"},
            "unknown value 'adagard' (did you mean 'adagrad'?); known are sgd, "
            "momentum, nesterov, adagrad, rmsprop, adadelta, adam, adamw, "
            "ftrl, sum, assign"},
        Bad{"OptimizerKeyOfAnotherKind",
            {"train.optimizer.rho=0.9"},
            "not used by the optimizer 'adagrad'"},
        Bad{"RateOfFtrl",
            {"train.optimizer.learning_rate=1", "train.optimizer.kind=ftrl"},
            "not used by the optimizer 'ftrl'"},
        Bad{"ClippedSum",
            {"train.optimizer.clip_norm=1", "train.optimizer.kind=sum"},
            "not used by the optimizer 'sum'"},
        Bad{"NoRate", {"train.optimizer.learning_rate=0"}, "0 is not > 0"},
        Bad{"NegativeL1", {"train.optimizer.l1=-1e-9"}, "-1e-9 is not >= 0"},
        Bad{"NanL2",
            {"train.optimizer.l2=nan"},
            "expected a finite number, got 'nan'"},
        Bad{"FullMomentum",
            {"train.optimizer.momentum=1", "train.optimizer.kind=nesterov"},
            "1 is not in [0, 1)"},
        Bad{"DecayPastZero",
            {"train.optimizer.l2=10", "train.optimizer.kind=sgd"},
            "times learning_rate (0.1) is not below 1: a step would turn the "
            "sign of every weight"},
        Bad{"Schedule",
            {"train.schedule.kind=cosin"},
            "unknown value 'cosin' (did you mean 'cosine'?); known are "
            "constant, inverse_square_root, exponential, step, cosine"},
        Bad{"ScheduleKeyOfAnotherKind",
            {"train.schedule.decay_rate=0.5"},
            "not used by the schedule 'constant'"},
        Bad{"GrowingSchedule",
            {"train.schedule.decay_rate=1.5", "train.schedule.kind=step"},
            "1.5 is not in (0, 1]"},
        Bad{"NonFinite",
            {"train.on_non_finite=ski"},
            "unknown value 'ski' (did you mean 'skip'?); known are fail, skip"},
        Bad{"StopWithoutValidation",
            {"train.stop={}"},
            "needs data.validation or data.validation_fraction"},
        Bad{"StopByAnotherModelsMetric",
            {"train.stop.metric=rmse", "data.validation_fraction=0.1"},
            "'rmse' is not a metric of logistic_regression, which has "
            "log_loss, auc, accuracy, precision, recall, f1"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    SyncAndTables, JobSpecRefuses,
    ::testing::Values(
        Bad{"Mode",
            {"sync.mode=bps"},
            "unknown value 'bps' (did you mean 'bsp'?); known are bsp, ssp, "
            "asp"},
        Bad{"StaleBsp",
            {"sync.staleness=1"},
            "1 contradicts mode: bsp; only ssp is stale"},
        Bad{"StaleAsp",
            {"sync.staleness=1", "sync.mode=asp"},
            "1 contradicts mode: asp; only ssp is stale"},
        Bad{"PipelinedBsp",
            {"sync.pipeline=1"},
            "1 contradicts mode: bsp, where a rank waits for every push; use "
            "asp or ssp"},
        Bad{"Combine",
            {"sync.combine=avg"},
            "unknown value 'avg'; known are mean, sum"},
        Bad{"NoPartitions", {"tables.partitions=0"}, "0 is not in 1..4096"},
        Bad{"NoReplicas", {"tables.replicas=0"}, "0 is not in 1..16"},
        Bad{"TooManyReplicas", {"tables.replicas=17"}, "17 is not in 1..16"},
        Bad{"MoreInSyncThanThereAre",
            {"tables.min_in_sync=2"},
            "2 is more than the 1 of tables.replicas"},
        Bad{"ScrambledDense",
            {"tables.scramble=true", "model.keys=5"},
            "is for sparse tables: model.keys makes dense ones"},
        Bad{"FilteredDense",
            {"tables.admit_after=2", "model.keys=5"},
            "is for sparse tables: model.keys makes dense ones"},
        Bad{"ExpiringDense",
            {"tables.expire_after_epochs=1", "model.keys=5"},
            "is for sparse tables: model.keys makes dense ones"},
        Bad{"NoStallTimeout",
            {"train.stall_timeout=600"},
            "expected a duration such as 500ms, 5s or 2m, got '600': add a "
            "unit"},
        Bad{"NoOutput", {"output.directory=''"}, "must not be empty"}),
    [](const auto& info) { return info.param.name; });

TEST(JobSpecRefusesTest, AllAtOnceWithLineAndColumn) {
  EXPECT_EQ(Complaints("name: adult-lr\n"
                       "model: {kind: fm}\n"
                       "data:\n"
                       "  train: [a9a]\n"
                       "train:\n"
                       "  epochs: 0\n"
                       "  optimiser: {kind: sgd}\n"
                       "  epochs: 2\n"
                       "sync: {mode: bps, staleness: x}\n"),
            "job.yaml:2:15: model.kind: 'fm' is not in this version; it has "
            "linear_regression, logistic_regression, svm, softmax\n"
            "job.yaml:4:3: 'data.format' is missing\n"
            "job.yaml:6:11: train.epochs: 0 is not in 1..1000000\n"
            "job.yaml:7:3: unknown key 'optimiser' in 'train' (did you mean "
            "'optimizer'?)\n"
            "job.yaml:8:3: key 'epochs' a second time, first at job.yaml:6:3\n"
            "job.yaml:9:14: sync.mode: unknown value 'bps' (did you mean "
            "'bsp'?); known are bsp, ssp, asp\n"
            "job.yaml:9:30: sync.staleness: expected a whole number, got 'x'");
}

TEST(JobSpecRefusesTest, WhatIsMissing) {
  EXPECT_EQ(Complaints("ranks: 2\n"),
            "job.yaml:1:1: 'name' is missing\n"
            "job.yaml:1:1: 'model.kind' is missing\n"
            "job.yaml:1:1: 'data.format' is missing\n"
            "job.yaml:1:1: 'data.train' is missing");
  EXPECT_EQ(Complaints(""), "job.yaml:1:1: the file is empty");
  EXPECT_EQ(Complaints("# nothing\n"), "job.yaml:1:1: the file is empty");
}

TEST(JobSpecRefusesTest, ACheckpointThatCannotBe) {
  EXPECT_THAT(
      Complaints(absl::StrCat(kMinimalJob,
                              "checkpoint: {every_epochs: 0, keep: 0}\n")),
      ::testing::AllOf(
          HasSubstr("job.yaml:4:13: 'checkpoint.directory' is missing\n"),
          HasSubstr("job.yaml:4:28: checkpoint.every_epochs: and every_clocks "
                    "are both 0"),
          HasSubstr("job.yaml:4:37: checkpoint.keep: 0 is not >= 1")));
}

TEST(JobSpecRefusesTest, AKindThatNobodyKnowsLeavesItsKeysAlone) {
  EXPECT_EQ(Complaints(kMinimalJob, {"train.optimizer={kind: x, rho: 0.5, "
                                     "momentum: 0.5, alpha: 1}",
                                     "train.schedule={kind: y, min_factor: 1}",
                                     "data.options={labels: [a], columns: []}",
                                     "data.format=z"}),
            "--set data.format: unknown value 'z'; known are libsvm, libffm, "
            "csv, idx\n"
            "--set train.optimizer: train.optimizer.kind: unknown value 'x'; "
            "known are sgd, momentum, nesterov, adagrad, rmsprop, adadelta, "
            "adam, adamw, ftrl, sum, assign\n"
            "--set train.schedule: train.schedule.kind: unknown value 'y'; "
            "known are constant, inverse_square_root, exponential, step, "
            "cosine");
}

TEST(JobSpecRefusesTest, AModelThatNobodyKnowsMayWatchAnyMetric) {
  EXPECT_EQ(Complaints(kMinimalJob, {"model=3", "train.stop.metric=rmse",
                                     "data.validation_fraction=0.1"}),
            "--set model: expected a map, got '3'");
}

TEST(JobSpecRefusesTest, ABadOverrideNamesItsPathAndTheNearestKey) {
  EXPECT_EQ(Complaints(kMinimalJob, {"train.optimiser.kind=sgd"}),
            "--set train.optimiser.kind: unknown key 'optimiser' in 'train' "
            "(did you mean 'optimizer'?)");
  EXPECT_EQ(Complaints(kMinimalJob, {"train.learning_rate=1"}),
            "--set train.learning_rate: unknown key 'learning_rate' in 'train' "
            "(it belongs in 'train.optimizer')");
  EXPECT_EQ(Complaints(kMinimalJob, {"name.x=1"}),
            "--set name.x: 'name' is 'small' and has no keys");
  EXPECT_EQ(Complaints(kMinimalJob, {"train.epochs"}),
            "--set train.epochs: expected path=value");
}

// One letter too many in any key is found, and the key named (or, for beta and
// its like, one that is as near).
TEST(JobSpecRefusesTest, EveryKeyIsFoundByItsMisspelling) {
  int keys = 0;
  for (const KeyInfo& key : DescribeJobSpec()) {
    const std::vector<std::string> path = absl::StrSplit(key.path, '.');
    const std::string where =
        path.size() == 1
            ? ""
            : absl::StrCat(" in '",
                           absl::StrJoin(path.begin(), path.end() - 1, "."),
                           "'");
    EXPECT_THAT(
        Complaints(kMinimalJob, {absl::StrCat(key.path, "q=1")}),
        HasSubstr(absl::StrCat("unknown key '", path.back(), "q'", where,
                               " (did you mean '", path.back())));
    ++keys;
  }
  EXPECT_GT(keys, 60);
}

TEST(JobSpecRefusesTest, EveryKeyTakesNoMap) {
  for (const KeyInfo& key : DescribeJobSpec()) {
    if (key.type == "section") continue;
    EXPECT_THAT(Complaints(kFullJob, {absl::StrCat(key.path, "={a: 1}")}),
                HasSubstr(absl::StrCat("--set ", key.path)));
  }
}

}  // namespace
}  // namespace seraph
