#include "scheduler/store/stored_state_codec.h"

#include <limits>
#include <memory>
#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kYaml[] =
    "name: small\nmodel: {kind: logistic_regression, keys: 9}\n"
    "data: {format: libsvm, train: [a]}\nranks: 2\n";

Node MakeNode(const std::string& name, NodeRole role) {
  Node node;
  node.name = name;
  node.role = role;
  node.address = name + ":1";
  node.incarnation = 77 + name.size();
  node.host = "host";
  node.arithmetic = "x";
  node.version = "1.0";
  node.slots = 3;
  return node;
}

std::shared_ptr<const JobRequest> Request() {
  auto request = std::make_shared<JobRequest>();
  request->spec = ParseJobSpec(kYaml, "job.yaml", {}).value();
  request->base_directory = "/jobs";
  request->submission_id = "mine";
  return request;
}

std::shared_ptr<const JobPlan> Plan() {
  auto plan = std::make_shared<JobPlan>();
  plan->job.id = "j";
  plan->spec = Request()->spec;
  plan->yaml = ToYaml(plan->spec);
  plan->base_directory = "/jobs";
  plan->train.blocks = {{.end = 100, .train_records = 10}};
  plan->validation = DatasetFacts();
  plan->validation->lines = 5;
  plan->labels.task = TaskKind::kBinary;
  plan->labels.classes = 2;
  TableSpec& table = plan->tables.emplace_back();
  table.name = "weights";
  table.partitions = 4;
  plan->steps_per_epoch = 17;
  plan->epoch_barrier = false;
  return plan;
}

Checkpoint MakeCheckpoint(uint64_t cut) {
  return {.name = {"/ckpt/j", "g1-c1.checkpoint"},
          .cut = cut,
          .clocks = {{1, 2}, {1, 3}},
          .time = absl::FromUnixSeconds(1700000000),
          .bytes = 12345};
}

StoredJob FullJob() {
  const Node server = MakeNode("s1", NodeRole::kServer);
  const Node worker = MakeNode("worker", NodeRole::kWorker);
  StoredJob job;
  job.id = "j";
  job.number = 5;
  job.generation = 3;
  job.view.id = "j";
  job.view.name = "small";
  job.view.state = JobState::kPaused;
  job.view.phase = JobPhase::kRecovering;
  job.view.error = "none";
  job.view.submitted = absl::FromUnixSeconds(1700000001);
  job.view.started = absl::FromUnixSeconds(1700000002);
  job.view.ended = absl::FromUnixSeconds(1700000003);
  job.view.ranks = 2;
  job.view.epochs_total = 7;
  job.view.epochs = {{.epoch = 1,
                      .examples = 10,
                      .seconds = absl::Seconds(1.5),
                      .train = {{"log_loss", 0.25}},
                      .validation = {{"auc", 0.75}}}};
  job.view.epoch_examples_total = 11;
  job.view.model_path = "/out/model";
  job.view.model_digest = "sha256:1";
  job.view.records_read = 12;
  job.view.records_bad = 13;
  job.view.recoveries = 14;
  job.view.warnings = {"w"};
  job.view.checkpoint =
      CheckpointView{"/ckpt/j/x", absl::FromUnixSeconds(1700000004), 1, 2, 300};
  job.view.replicas = 2;
  job.first_server = 6;
  job.arithmetic = "x";
  job.output_proven = true;
  job.holders = {server, worker};
  job.ranks = {{.attempt = 4, .worker = worker, .done = false},
               {.attempt = 9, .worker = std::nullopt, .done = true}};
  PartitionRecord& partition = job.partitions.emplace_back();
  partition.table = 0;
  partition.partition = 3;
  partition.range = {10, std::numeric_limits<Key>::max()};
  partition.group.epoch = 8;
  partition.group.members = {server};
  partition.group.primary = server.incarnation;
  partition.group.recruit = MakeNode("s22", NodeRole::kServer);
  job.origin = MakeCheckpoint(3);
  job.checkpoints = {MakeCheckpoint(3), MakeCheckpoint(4)};
  job.last_cut = 5;
  job.times_back = 2;
  job.decided = {{.seconds = absl::Seconds(2),
                  .validation = {{"auc", 0.5}},
                  .stop = true,
                  .best = -std::numeric_limits<double>::infinity(),
                  .epochs_without = 2}};
  job.epoch_sums = {{1, 2, 3.5}};
  return job;
}

StateRecords Apply(StateRecords records, const StateWrites& writes) {
  for (const StateWrite& write : writes) {
    if (write.value.has_value()) {
      records[write.key] = *write.value;
    } else {
      records.erase(write.key);
    }
  }
  return records;
}

StateRecords Stored() {
  StoredChanges changes;
  changes.requests["j"] = Request();
  changes.plans["j"] = Plan();
  changes.jobs["j"] = FullJob();
  changes.nodes =
      std::vector<KnownNode>{{MakeNode("s1", NodeRole::kServer), true},
                             {MakeNode("worker", NodeRole::kWorker), false}};
  return Apply({}, EncodeChanges(changes));
}

TEST(StoredStateCodecTest, EverythingComesBack) {
  const auto state = DecodeState(Stored());
  ASSERT_THAT(state, IsOk());
  ASSERT_THAT(state->jobs, SizeIs(1));
  const StoredState::Job& job = state->jobs[0];
  EXPECT_TRUE(job.job == FullJob());
  EXPECT_TRUE(job.request->spec == Request()->spec);
  EXPECT_EQ(job.request->base_directory, "/jobs");
  EXPECT_EQ(job.request->submission_id, "mine");
  ASSERT_NE(job.plan, nullptr);
  const JobPlan& plan = *job.plan;
  EXPECT_TRUE(plan.spec == Plan()->spec);
  EXPECT_EQ(plan.yaml, Plan()->yaml);
  EXPECT_EQ(plan.base_directory, "/jobs");
  EXPECT_TRUE(plan.train == Plan()->train);
  EXPECT_TRUE(plan.validation == Plan()->validation);
  EXPECT_TRUE(plan.labels == Plan()->labels);
  EXPECT_TRUE(plan.tables == Plan()->tables);
  EXPECT_EQ(plan.steps_per_epoch, 17u);
  EXPECT_FALSE(plan.epoch_barrier);
  ASSERT_THAT(state->nodes, SizeIs(2));
  EXPECT_TRUE(state->nodes[0].draining);
  EXPECT_TRUE(state->nodes[0].node == MakeNode("s1", NodeRole::kServer));
}

TEST(StoredStateCodecTest, AChangeWritesWhatHasChanged) {
  StoredChanges changes;
  changes.jobs["j"] = FullJob();
  EXPECT_THAT(EncodeChanges(changes), SizeIs(1));
  EXPECT_THAT(EncodeChanges(StoredChanges()), IsEmpty());
}

TEST(StoredStateCodecTest, WhatIsForgottenIsGone) {
  StoredChanges changes;
  changes.forgotten = {"j"};
  const auto state = DecodeState(Apply(Stored(), EncodeChanges(changes)));
  ASSERT_THAT(state, IsOk());
  EXPECT_THAT(state->jobs, IsEmpty());
  changes = StoredChanges();
  changes.plans["j"] = nullptr;
  const auto ended = DecodeState(Apply(Stored(), EncodeChanges(changes)));
  ASSERT_THAT(ended, IsOk());
  EXPECT_EQ(ended->jobs[0].plan, nullptr);
}

TEST(StoredStateCodecTest, JobsComeInTheOrderOfTheirSubmission) {
  StoredChanges changes;
  for (const auto& [id, number] :
       {std::pair("a", 2), std::pair("b", 1), std::pair("c", 3)}) {
    StoredJob job = FullJob();
    job.id = id;
    job.number = number;
    changes.requests[id] = Request();
    changes.jobs[id] = job;
  }
  const auto state = DecodeState(Apply({}, EncodeChanges(changes)));
  ASSERT_THAT(state, IsOk());
  ASSERT_THAT(state->jobs, SizeIs(3));
  EXPECT_EQ(state->jobs[0].job.id, "b");
  EXPECT_EQ(state->jobs[2].job.id, "c");
}

TEST(StoredStateCodecTest, DamageIsNamed) {
  StateRecords records = Stored();
  records["jobs/j/state"] = "\xff\xff";
  EXPECT_THAT(DecodeState(records),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("jobs/j/state")));
  records = Stored();
  records.erase("jobs/j/request");
  EXPECT_THAT(DecodeState(records), StatusIs(absl::StatusCode::kDataLoss,
                                             HasSubstr("jobs/j/request")));
  records = Stored();
  records["term"] = "7";
  EXPECT_THAT(DecodeState(records), IsOk()) << "others have records, too";
}

}  // namespace
}  // namespace seraph
