#include "scheduler/service/order_codec.h"

#include <memory>
#include <string>

#include "common/testing/status_matchers.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/dataset_codec.h"
#include "common/wire/table_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/service/replica_order_codec.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const JobRef kJob = {"id", 3};

Node MakeNode() {
  Node node;
  node.name = "n";
  node.address = "n:1";
  node.incarnation = 77;
  return node;
}

std::shared_ptr<JobPlan> MakePlan() {
  auto plan = std::make_shared<JobPlan>();
  plan->job = kJob;
  plan->spec.ranks = 4;
  plan->spec.sync.mode = SyncMode::kSsp;
  plan->spec.sync.staleness = 2;
  plan->spec.train.epochs = 6;
  plan->spec.train.on_non_finite = NonFiniteAction::kSkip;
  plan->yaml = "name: x";
  plan->train.files = {{.data = {"/data/train", 5, 6}, .labels = {}}};
  plan->labels.task = TaskKind::kBinary;
  plan->tables.resize(2);
  plan->tables[0].name = "bias";
  plan->tables[1].name = "weights";
  plan->steps_per_epoch = 9;
  plan->epoch_barrier = true;
  PartitionPlacement& placement = plan->partitions.emplace_back();
  placement.table = 1;
  placement.epoch = 1;
  placement.primary = MakeNode();
  return plan;
}

TEST(OrderCodecTest, AnAssignmentSaysAllThatAServerNeeds) {
  const auto plan = MakePlan();
  const v1::AssignPartitionsRequest request =
      AssignRequestOf(kJob, MakeNode(), {plan, plan->partitions, std::nullopt});
  EXPECT_EQ(FromProto(request.job()), kJob);
  EXPECT_EQ(request.incarnation(), 77u);
  const v1::JobTables& tables = request.tables();
  EXPECT_EQ(tables.ranks(), 4u);
  EXPECT_THAT(FromProto(tables.sync()), IsOkAndHolds(plan->spec.sync));
  EXPECT_EQ(tables.steps_per_epoch(), 9u);
  EXPECT_EQ(tables.epochs(), 6u);
  EXPECT_TRUE(tables.epoch_barrier());
  EXPECT_TRUE(tables.skip_non_finite());
  ASSERT_EQ(tables.tables_size(), 2);
  EXPECT_THAT(FromProto(tables.tables(1)), IsOkAndHolds(plan->tables[1]));
  ASSERT_EQ(request.replicas_size(), 1);
  EXPECT_EQ(request.replicas(0).table(), 1u);
  EXPECT_EQ(request.replicas(0).epoch(), 1u);
  EXPECT_EQ(request.replicas(0).duty(), v1::REPLICA_DUTY_LEAD);
}

TEST(OrderCodecTest, AStartSaysAllThatAWorkerNeeds) {
  const auto plan = MakePlan();
  const v1::RunRanksRequest request =
      RunRanksRequestOf(kJob, MakeNode(), {plan, {{2, 1}, {3, 1}}});
  EXPECT_EQ(request.incarnation(), 77u);
  EXPECT_EQ(FromProto(request.job()), kJob);
  EXPECT_EQ(request.job_yaml(), "name: x");
  EXPECT_THAT(FromProto(request.train()), IsOkAndHolds(plan->train));
  EXPECT_FALSE(request.has_validation());
  EXPECT_THAT(FromProto(request.labels()), IsOkAndHolds(plan->labels));
  EXPECT_EQ(request.tables_size(), 2);
  EXPECT_EQ(request.partitions_size(), 1);
  ASSERT_EQ(request.ranks_size(), 2);
  EXPECT_EQ(FromProto(request.ranks(1)), (RankRef{3, 1}));
  EXPECT_EQ(request.steps_per_epoch(), 9u);
  EXPECT_TRUE(request.epoch_barrier());

  plan->validation = plan->train;
  EXPECT_TRUE(RunRanksRequestOf(kJob, MakeNode(), {plan, {}}).has_validation());
}

TEST(OrderCodecTest, AScanNamesItsPiece) {
  ScanPiece piece;
  piece.file.data = {"/data/train", 5, 6};
  piece.file_index = 1;
  piece.begin = 2;
  piece.end = 4;
  piece.block_bytes = 2;
  piece.validation = true;
  piece.job_yaml = std::make_shared<const std::string>("name: x");
  const v1::ScanRequest request = ScanRequestOf(kJob, MakeNode(), piece);
  EXPECT_EQ(request.incarnation(), 77u);
  EXPECT_EQ(request.job_yaml(), "name: x");
  EXPECT_EQ(FromProto(request.task().file()), piece.file);
  EXPECT_EQ(request.task().file_index(), 1u);
  EXPECT_EQ(request.task().begin(), 2u);
  EXPECT_EQ(request.task().end(), 4u);
  EXPECT_EQ(request.task().block_bytes(), 2u);
  EXPECT_TRUE(request.task().validation());
}

TEST(OrderCodecTest, ALedgersNewestRecordIsTheLatest) {
  v1::ReadLedgerReply reply;
  reply.set_generation(3);
  reply.set_failure("why");
  reply.set_skipped_rows(8);
  v1::RankLedger* rank = reply.add_ranks();
  rank->mutable_clock()->set_epoch(2);
  for (uint32_t step : {5, 4}) {
    v1::LedgerRecord* record = rank->add_records();
    record->mutable_clock()->set_epoch(1);
    record->mutable_clock()->set_step(step);
    record->add_sums(step);
  }
  v1::LedgerRecord* end = rank->add_epoch_ends();
  end->mutable_clock()->set_epoch(1);
  end->add_sums(7);
  reply.add_ranks();

  const LedgerReading reading = ReadingOf(reply);
  EXPECT_EQ(reading.generation, 3u);
  EXPECT_EQ(reading.failure, "why");
  EXPECT_EQ(reading.skipped_rows, 8u);
  ASSERT_EQ(reading.ranks.size(), 2u);
  EXPECT_EQ(reading.ranks[0].clock, (Clock{2, 0}));
  EXPECT_EQ(reading.ranks[0].latest->clock, (Clock{1, 5}));
  ASSERT_EQ(reading.ranks[0].epoch_ends.size(), 1u);
  EXPECT_THAT(reading.ranks[0].epoch_ends[0].sums, ElementsAre(7));
  EXPECT_FALSE(reading.ranks[1].latest.has_value());
}

TEST(OrderCodecTest, AStatusShowsAllOfAView) {
  JobView view;
  view.id = "id";
  view.name = "name";
  view.state = JobState::kRunning;
  view.phase = JobPhase::kTraining;
  view.submitted = absl::FromUnixSeconds(0);
  view.started = absl::FromUnixSeconds(1);
  view.ranks = 2;
  view.epochs_total = 3;
  view.epochs = {{1, 10, absl::Seconds(2), {{"loss", 0.5}}, {{"auc", 0.75}}}};
  view.running = {{"loss", 0.25}};
  view.epoch_examples = 4;
  view.epoch_examples_total = 10;
  view.examples_per_second = 5;
  view.phase_fraction = 0.5;
  view.records_read = 10;
  view.records_bad = 1;
  view.warnings = {"careful"};
  v1::JobStatus status;
  ToProto(view, &status);
  EXPECT_EQ(status.state(), v1::RUNNING);
  EXPECT_EQ(status.phase(), "training");
  EXPECT_EQ(status.submitted(), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(status.started(), "1970-01-01T00:00:01.000000Z");
  EXPECT_EQ(status.ended(), "");
  ASSERT_EQ(status.epochs_size(), 1);
  EXPECT_EQ(status.epochs(0).seconds(), 2);
  EXPECT_EQ(status.epochs(0).train(0).value(), 0.5);
  EXPECT_EQ(status.epochs(0).validation(0).name(), "auc");
  EXPECT_EQ(status.running(0).value(), 0.25);
  EXPECT_EQ(status.epoch_examples(), 4u);
  EXPECT_EQ(status.phase_fraction(), 0.5);
  EXPECT_THAT(status.warnings(), ElementsAre("careful"));
}

// Protocol Buffers refuses to send a string that is not UTF-8.
TEST(OrderCodecTest, BytesThatAreNoTextDoNotStopAStatus) {
  JobView view;
  view.error =
      "caf\xc3\xa9 \xff\xc3 \xed\xa0\x80 \xf0\x9f\x98\x80 \xe0\x80\xaf";
  v1::JobStatus status;
  ToProto(view, &status);
  EXPECT_EQ(status.error(), "caf\xc3\xa9 ?? ??? \xf0\x9f\x98\x80 ???");
}

}  // namespace
}  // namespace seraph
