#include "client/render/documents.h"

#include <limits>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "yaml-cpp/yaml.h"

namespace seraph {
namespace {

JobView Sample() {
  JobView job;
  job.id = "j1";
  job.name = "adult-lr";
  job.state = JobState::kSucceeded;
  job.submitted = "2024-05-01T12:00:00Z";
  job.started = "2024-05-01T12:00:01Z";
  job.ended = "2024-05-01T12:00:02Z";
  job.ranks = 4;
  job.epochs = {{1,
                 32561,
                 0.5,
                 {{"log_loss", 0.41}},
                 {{"log_loss", 0.34}, {"auc", 0.89}, {"accuracy", 0.84}}},
                {2, 32561, 0, {{"log_loss", 0.4}}, {}}};
  job.epochs_total = 2;
  job.model_path = "/tmp/out/model";
  job.model_digest = "sha256:ab";
  job.records_read = 32561;
  job.recoveries = 1;
  job.replicas = 2;
  job.least_in_sync = 1;
  job.checkpoint = {.path = "/ckpt/m-7",
                    .time = "2024-05-01T12:00:01Z",
                    .epoch = 1,
                    .step = 5,
                    .bytes = 1024};
  job.warnings = {"a \"warning\""};
  return job;
}

TEST(DocumentsTest, AJobIsTheContractsDocument) {
  EXPECT_EQ(ToJsonText(JobDocument(Sample())), R"({
  "job": {
    "id": "j1",
    "name": "adult-lr",
    "state": "SUCCEEDED",
    "error": "",
    "phase": "",
    "submitted": "2024-05-01T12:00:00Z",
    "started": "2024-05-01T12:00:01Z",
    "ended": "2024-05-01T12:00:02Z",
    "ranks": 4,
    "waiting_for": "",
    "replicas": 2,
    "least_in_sync": 1
  },
  "epochs": [
    {
      "epoch": 1,
      "examples": 32561,
      "seconds": 0.5,
      "examples_per_second": 65122.0,
      "train": {
        "log_loss": 0.41
      },
      "validation": {
        "log_loss": 0.34,
        "auc": 0.89,
        "accuracy": 0.84
      }
    },
    {
      "epoch": 2,
      "examples": 32561,
      "seconds": 0.0,
      "examples_per_second": 0.0,
      "train": {
        "log_loss": 0.4
      },
      "validation": {}
    }
  ],
  "model": {
    "path": "/tmp/out/model",
    "digest": "sha256:ab"
  },
  "records": {
    "read": 32561,
    "bad": 0
  },
  "recoveries": 1,
  "checkpoint": {
    "path": "/ckpt/m-7",
    "time": "2024-05-01T12:00:01Z",
    "epoch": 1,
    "step": 5,
    "bytes": 1024
  },
  "warnings": [
    "a \"warning\""
  ]
}
)");
}

TEST(DocumentsTest, AJobAsYaml) {
  EXPECT_EQ(ToYamlText(JobDocument(Sample())), R"(job:
  id: "j1"
  name: "adult-lr"
  state: "SUCCEEDED"
  error: ""
  phase: ""
  submitted: "2024-05-01T12:00:00Z"
  started: "2024-05-01T12:00:01Z"
  ended: "2024-05-01T12:00:02Z"
  ranks: 4
  waiting_for: ""
  replicas: 2
  least_in_sync: 1
epochs:
  - epoch: 1
    examples: 32561
    seconds: 0.5
    examples_per_second: 65122.0
    train:
      log_loss: 0.41
    validation:
      log_loss: 0.34
      auc: 0.89
      accuracy: 0.84
  - epoch: 2
    examples: 32561
    seconds: 0.0
    examples_per_second: 0.0
    train:
      log_loss: 0.4
    validation: {}
model:
  path: "/tmp/out/model"
  digest: "sha256:ab"
records:
  read: 32561
  bad: 0
recoveries: 1
checkpoint:
  path: "/ckpt/m-7"
  time: "2024-05-01T12:00:01Z"
  epoch: 1
  step: 5
  bytes: 1024
warnings:
  - "a \"warning\""
)");
}

TEST(DocumentsTest, YamlReadsBackToTheSameTexts) {
  const std::string odd = "a: b\n# \"c\" \t é \x01 'd' {}[] - true";
  const Document document = {{"text", odd},
                             {"list", {{1, 2}, {{"a", "yes"}, {"b", 1e-7}}}},
                             {"none", nullptr},
                             {"nan", std::numeric_limits<double>::quiet_NaN()},
                             {"empty", Document::object()}};
  const YAML::Node node = YAML::Load(ToYamlText(document));
  EXPECT_EQ(node["text"].as<std::string>(), odd);
  EXPECT_EQ(node["list"][0][1].as<int>(), 2);
  EXPECT_EQ(node["list"][1]["a"].as<std::string>(), "yes");
  EXPECT_EQ(node["list"][1]["b"].as<double>(), 1e-7);
  EXPECT_TRUE(node["none"].IsNull());
  EXPECT_TRUE(node["nan"].IsNull());
  EXPECT_TRUE(node["empty"].IsMap());
}

TEST(DocumentsTest, NumbersThatAreNotFiniteAndBadUtf8DoNotBreakJson) {
  JobView job = Sample();
  job.error = "caf\xe9";
  job.epochs[0].train = {{"loss", std::numeric_limits<double>::infinity()}};
  const Document read = Document::parse(ToJsonText(JobDocument(job)));
  EXPECT_TRUE(read["epochs"][0]["train"]["loss"].is_null());
  EXPECT_EQ(read["job"]["error"], "caf\xEF\xBF\xBD");
}

TEST(DocumentsTest, ASubmittedJobIsPending) {
  EXPECT_EQ(SubmittedDocument("j1", "adult-lr").dump(),
            R"({"job":{"id":"j1","name":"adult-lr","state":"PENDING",)"
            R"("error":""}})");
}

TEST(DocumentsTest, JobsAreAList) {
  EXPECT_EQ(JobsDocument({}).dump(), R"({"jobs":[]})");
  const Document jobs = JobsDocument({Sample()});
  EXPECT_EQ(jobs["jobs"][0]["id"], "j1");
  EXPECT_EQ(jobs["jobs"][0]["state"], "SUCCEEDED");
  EXPECT_EQ(jobs["jobs"][0]["epochs_done"], 2);
  EXPECT_EQ(jobs["jobs"][0]["epochs_total"], 2);
}

TEST(DocumentsTest, LinesOfALog) {
  EXPECT_EQ(LogDocument({{"t", "x"}}).dump(),
            R"({"lines":[{"time":"t","text":"x"}]})");
}

TEST(DocumentsTest, AClusterHasItsNodes) {
  ClusterView cluster;
  cluster.name = "seraph";
  cluster.version = "0.1.0";
  cluster.running_jobs = 1;
  cluster.nodes = {{"n1", "server", "ALIVE", "h:1", "0.1.0",
                    absl::Milliseconds(250), 1024, 8, 100, 0}};
  EXPECT_EQ(
      ClusterDocument(cluster).dump(),
      R"({"cluster":{"name":"seraph","version":"0.1.0",)"
      R"("running_jobs":1,"pending_jobs":0,"degraded_partitions":0},"nodes":[{"name":"n1",)"
      R"("role":"server","state":"ALIVE","address":"h:1",)"
      R"("version":"0.1.0","seconds_since_heartbeat":0.25,)"
      R"("memory_bytes":1024,"partitions":8,"primaries":0,"backups":0,"rows":100,"ranks":0}]})");
}

TEST(DocumentsTest, EveryStateHasItsName) {
  EXPECT_EQ(JobStateName(JobState::kPending), "PENDING");
  EXPECT_EQ(JobStateName(JobState::kRunning), "RUNNING");
  EXPECT_EQ(JobStateName(JobState::kPaused), "PAUSED");
  EXPECT_EQ(JobStateName(JobState::kSucceeded), "SUCCEEDED");
  EXPECT_EQ(JobStateName(JobState::kFailed), "FAILED");
  EXPECT_EQ(JobStateName(JobState::kCancelled), "CANCELLED");
}

}  // namespace
}  // namespace seraph
