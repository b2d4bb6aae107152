#include "scheduler/io/job_record.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::TempFolder;
using ::testing::HasSubstr;

JobView SampleView() {
  JobView view;
  view.id = "7c1";
  view.name = "adult-lr";
  view.state = JobState::kSucceeded;
  EpochView& epoch = view.epochs.emplace_back();
  epoch.epoch = 1;
  epoch.examples = 32561;
  epoch.seconds = absl::Milliseconds(500);
  epoch.train = {{"log_loss", 0.1}};
  epoch.validation = {{"log_loss", 0.34}, {"auc", 0.89}};
  view.model_path = "/jobs/out/model";
  view.model_digest = "sha256:abc";
  view.records_read = 32561;
  view.records_bad = 3;
  return view;
}

TEST(JobRecordTest, HasTheFieldsOfTheContract) {
  const auto json = nlohmann::json::parse(JobRecordJson(SampleView()));
  const auto expected = nlohmann::json::parse(R"({
    "job": {"id": "7c1", "name": "adult-lr", "state": "SUCCEEDED", "error": ""},
    "epochs": [{"epoch": 1, "examples": 32561, "seconds": 0.5,
                "examples_per_second": 65122.0,
                "train": {"log_loss": 0.1},
                "validation": {"log_loss": 0.34, "auc": 0.89}}],
    "model": {"path": "/jobs/out/model", "digest": "sha256:abc"},
    "records": {"read": 32561, "bad": 3},
    "recoveries": 0,
    "warnings": []
  })");
  EXPECT_EQ(json, expected) << json.dump(2);
}

TEST(JobRecordTest, NumbersReadBackToTheSameBits) {
  JobView view = SampleView();
  view.epochs[0].train = {{"log_loss", 0.1 + 0.2}};
  const auto json = nlohmann::json::parse(JobRecordJson(view));
  EXPECT_EQ(json["epochs"][0]["train"]["log_loss"].get<double>(), 0.1 + 0.2);
}

TEST(JobRecordTest, IsValidJsonWhateverHappened) {
  JobView view = SampleView();
  view.state = JobState::kFailed;
  view.error = "data:1: '\xff\"\n' is no number";
  view.epochs[0].train = {
      {"log_loss", std::numeric_limits<double>::infinity()}};
  view.epochs[0].seconds = absl::ZeroDuration();
  view.epochs[0].validation.clear();
  const auto json = nlohmann::json::parse(JobRecordJson(view));
  EXPECT_EQ(json["job"]["state"], "FAILED");
  EXPECT_TRUE(json["epochs"][0]["train"]["log_loss"].is_null());
  EXPECT_EQ(json["epochs"][0]["examples_per_second"], 0);
  EXPECT_FALSE(json["epochs"][0].contains("validation"));
}

TEST(JobRecordTest, IsWrittenWhole) {
  const TempFolder folder;
  ASSERT_THAT(WriteJobRecord(folder.Path("result.json"), SampleView()), IsOk());
  EXPECT_EQ(folder.Read("result.json"), JobRecordJson(SampleView()));
  EXPECT_THAT(WriteJobRecord("/proc/none/result.json", SampleView()).ToString(),
              HasSubstr("/proc/none"));
}

}  // namespace
}  // namespace seraph
