// The daemon over sockets, with a server and a worker that a test leads.
#include "scheduler/scheduler.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/concurrent/notification.h"
#include "common/metrics/metric_sums.h"
#include "common/model_file/loaded_model.h"
#include "common/rpc/call.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/rpc_server.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "common/version/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/cluster.grpc.pb.h"
#include "proto/jobs.grpc.pb.h"
#include "scheduler/fake_node_services.h"

namespace seraph {
namespace {

using ::seraph::testing::FakeParameters;
using ::seraph::testing::FakeTasks;
using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Cluster = v1::Cluster::StubInterface::async_interface;
using Jobs = v1::Jobs::StubInterface::async_interface;

constexpr uint64_t kServer = 11;  // Incarnations.
constexpr uint64_t kWorker = 12;

class SchedulerTest : public ::testing::Test {
 protected:
  explicit SchedulerTest(StoreKind store = StoreKind::kSqlite) {
    config_.scheduler.store = store;
    folder_.Write("train", "1 1:1\n");
    config_.scheduler.listen = "127.0.0.1:0";
    config_.scheduler.state_directory = folder_.Path("state");
    // Nobody dies here for its silence, however busy the machine is.
    config_.scheduler.heartbeat_timeout = absl::Hours(1);
    config_.rpc.shutdown_grace = absl::Hours(1);
    auto scheduler = Scheduler::Start(config_);
    EXPECT_THAT(scheduler, IsOk());
    scheduler_ = *std::move(scheduler);
    server_ = Serve(v1::Parameters::service_full_name(), &parameters_);
    worker_ = Serve(v1::Tasks::service_full_name(), &tasks_);
    channel_ = MakeChannel(scheduler_->address(), {});
    cluster_ = v1::Cluster::NewStub(channel_);
    jobs_ = v1::Jobs::NewStub(channel_);
  }

  // While the nodes are there, which it tells to free what they hold.
  ~SchedulerTest() override { scheduler_.reset(); }

  absl::Status Register(const std::string& name, v1::NodeRole role,
                        uint64_t incarnation,
                        const std::string& cluster = "seraph",
                        const std::string& version = kVersion) {
    v1::RegisterRequest request;
    request.set_cluster(cluster);
    v1::Node* node = request.mutable_node();
    node->set_name(name);
    node->set_role(role);
    node->set_address(
        (role == v1::NODE_ROLE_SERVER ? server_ : worker_)->address());
    node->set_incarnation(incarnation);
    node->set_version(version);
    return Call(cluster_->async(), &Cluster::Register, request, {}).status();
  }

  static std::unique_ptr<RpcServer> Serve(const std::string& name,
                                          grpc::Service* service) {
    auto server = RpcServer::Start({}, {{name, service}});
    EXPECT_THAT(server, IsOk());
    return *std::move(server);
  }

  void RegisterNodes() {
    ASSERT_THAT(Register("s", v1::NODE_ROLE_SERVER, kServer), IsOk());
    ASSERT_THAT(Register("w", v1::NODE_ROLE_WORKER, kWorker), IsOk());
  }

  absl::StatusOr<v1::SubmitJobReply> Submit(const std::string& more = "",
                                            const std::string& id = "") {
    v1::SubmitJobRequest request;
    request.set_yaml(
        absl::StrCat("name: test\n"
                     "model: {kind: logistic_regression, keys: 5}\n"
                     "tables: {partitions: 2}\n",
                     more.find("data:") == std::string::npos
                         ? "data: {format: libsvm, train: [train]}\n"
                         : "",
                     more));
    request.set_file_name("test.yaml");
    request.set_base_directory(folder_.path());
    request.set_submission_id(id);
    return Call(jobs_->async(), &Jobs::SubmitJob, request, {});
  }

  // Submits, and waits for the ranks to be started.
  void SubmitAndRun(const std::string& more = "") {
    RegisterNodes();
    const auto reply = Submit(more);
    ASSERT_THAT(reply, IsOk());
    job_ = reply->id();
    tasks_.running().Wait();
  }

  // What the rank's ledger says after epoch 0.
  void EndEpochInLedger() {
    v1::ReadLedgerReply ledger;
    v1::RankLedger* rank = ledger.add_ranks();
    rank->mutable_clock()->set_epoch(1);
    v1::LedgerRecord* end = rank->add_epoch_ends();
    MetricSums sums;
    sums.examples = 100;
    sums.log_loss = sums.loss = 50;
    for (double sum : sums.ToArray()) end->add_sums(sum);
    parameters_.SetLedger(ledger);
  }

  struct Meeting {
    grpc::ClientContext context;
    v1::FinishEpochReply reply;
    std::unique_ptr<grpc::ClientWriter<v1::FinishEpochRequest>> writer;
    absl::StatusOr<bool> Wait() {
      const grpc::Status status = writer->Finish();
      if (!status.ok()) return FromGrpcStatus(status);
      return reply.stop();
    }
  };

  // A rank's share of epoch 0, with two runs of scores if it validates.
  std::unique_ptr<Meeting> Meet(bool validates, uint32_t rank = 0,
                                bool complete = true) {
    auto meeting = std::make_unique<Meeting>();
    meeting->writer = cluster_->FinishEpoch(&meeting->context, &meeting->reply);
    v1::FinishEpochRequest request;
    v1::FinishEpochHeader* header = request.mutable_header();
    header->mutable_job()->set_id(job_);
    header->mutable_job()->set_generation(1);
    header->mutable_rank()->set_rank(rank);
    header->mutable_rank()->set_attempt(1);
    header->set_train_seconds(2);
    MetricSums sums;
    sums.examples = 4;
    sums.log_loss = 2;
    for (double sum : sums.ToArray()) {
      if (validates) header->add_validation_sums(sum);
    }
    meeting->writer->Write(request);
    // Positives at 3 and 0, negatives at 1 and 2: 2 of 4 pairs are right.
    for (const std::vector<double>& run :
         {std::vector<double>{1, 3}, std::vector<double>{0, 2}}) {
      if (!validates) continue;
      for (double score : run) {
        request.mutable_run()->add_scores(score);
        const bool positive = score == 3 || score == 0;
        request.mutable_run()->add_positives(positive);
        request.mutable_run()->add_negatives(!positive);
      }
      meeting->writer->Write(request);
      request.Clear();
    }
    request.set_complete(true);
    if (complete) meeting->writer->Write(request);
    meeting->writer->WritesDone();
    return meeting;
  }

  absl::Status EndRank(const absl::Status& status = absl::OkStatus()) {
    v1::ReportRankRequest request;
    request.mutable_job()->set_id(job_);
    request.mutable_job()->set_generation(1);
    request.mutable_rank()->set_attempt(1);
    request.set_incarnation(kWorker);
    request.set_code(static_cast<int>(status.code()));
    request.set_message(std::string(status.message()));
    return Call(cluster_->async(), &Cluster::ReportRank, request, {}).status();
  }

  v1::JobStatus Get() {
    v1::GetJobRequest request;
    request.set_id(job_);
    auto reply = Call(jobs_->async(), &Jobs::GetJob, request, {});
    EXPECT_THAT(reply, IsOk());
    return reply.ok() ? *reply : v1::JobStatus();
  }

  // Follows the job to its end.
  std::vector<v1::JobStatus> Watch() {
    grpc::ClientContext context;
    v1::WatchJobRequest request;
    request.set_id(job_);
    const auto reader = jobs_->WatchJob(&context, request);
    std::vector<v1::JobStatus> seen;
    v1::JobStatus status;
    while (reader->Read(&status)) seen.push_back(status);
    EXPECT_TRUE(reader->Finish().ok());
    return seen;
  }

  std::vector<std::string> Log(bool follow) {
    grpc::ClientContext context;
    v1::ReadJobLogRequest request;
    request.set_id(job_);
    request.set_follow(follow);
    const auto reader = jobs_->ReadJobLog(&context, request);
    std::vector<std::string> lines;
    v1::JobLogLine line;
    while (reader->Read(&line)) lines.push_back(line.text());
    EXPECT_TRUE(reader->Finish().ok());
    return lines;
  }

  // One epoch, and the end of the rank.
  void Train(bool validates) {
    EndEpochInLedger();
    ASSERT_THAT(Meet(validates)->Wait(), IsOk());
    ASSERT_THAT(EndRank(), IsOk());
  }

  const TempFolder folder_;
  ClusterConfig config_;
  std::unique_ptr<Scheduler> scheduler_;
  FakeParameters parameters_{kServer};
  FakeTasks tasks_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<RpcServer> worker_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Cluster::Stub> cluster_;
  std::unique_ptr<v1::Jobs::Stub> jobs_;
  std::string job_;
};

TEST_F(SchedulerTest, AJobFromItsSubmissionToItsModel) {
  folder_.Write("validation", "0 1:1\n");
  SubmitAndRun(
      "data: {format: libsvm, train: [train], validation: [validation]}\n"
      "train: {epochs: 1}\n");
  // Tables by name: 0 is the bias, 1 the weights, in two partitions.
  parameters_.SetRows(0, 0, {{0, {0.25f}}});
  parameters_.SetRows(1, 0, {{0, {1}}, {1, {2}}});
  parameters_.SetRows(1, 1, {{2, {3}}, {3, {4}}, {4, {5}}});
  EXPECT_EQ(parameters_.assigned().replicas_size(), 3);
  EXPECT_EQ(parameters_.assigned().incarnation(), kServer);
  EXPECT_EQ(tasks_.run().ranks_size(), 1);
  EXPECT_EQ(tasks_.run().incarnation(), kWorker);
  EXPECT_TRUE(tasks_.run().has_validation());
  EXPECT_EQ(Get().state(), v1::RUNNING);
  EXPECT_EQ(Get().phase(), "training");
  v1::FindTablesRequest find;
  find.set_id(job_);
  const auto found = Call(jobs_->async(), &Jobs::FindTables, find, {});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->job().id(), job_);
  EXPECT_EQ(found->job().generation(), 1);
  ASSERT_EQ(found->tables_size(), 2);
  EXPECT_EQ(found->tables(1).width(), 1);
  ASSERT_EQ(found->partitions_size(), 3);
  EXPECT_EQ(found->partitions(2).primary().incarnation(), kServer);

  EndEpochInLedger();
  const auto stop = Meet(/*validates=*/true)->Wait();
  ASSERT_THAT(stop, IsOk());
  EXPECT_TRUE(*stop) << "it was the last epoch";
  ASSERT_THAT(EndRank(), IsOk());

  const std::vector<v1::JobStatus> seen = Watch();
  ASSERT_THAT(seen, Not(IsEmpty()));
  const v1::JobStatus& last = seen.back();
  ASSERT_EQ(last.state(), v1::SUCCEEDED) << last.error();
  ASSERT_EQ(last.epochs_size(), 1);
  EXPECT_EQ(last.epochs(0).examples(), 100u);
  EXPECT_EQ(last.epochs(0).seconds(), 2);
  EXPECT_EQ(last.epochs(0).train(0).name(), "log_loss");
  EXPECT_EQ(last.epochs(0).train(0).value(), 0.5);
  ASSERT_GE(last.epochs(0).validation_size(), 2);
  EXPECT_EQ(last.epochs(0).validation(1).name(), "auc");
  EXPECT_EQ(last.epochs(0).validation(1).value(), 0.5);
  EXPECT_EQ(last.records_read(), 100u);

  const auto model = LoadModel(last.model_path());
  ASSERT_THAT(model, IsOk());
  ASSERT_THAT(model->tables, SizeIs(2));
  EXPECT_THAT(model->tables[0].values, ElementsAre(0.25f));
  EXPECT_THAT(model->tables[1].keys, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(model->tables[1].values, ElementsAre(1, 2, 3, 4, 5));
  const auto record = nlohmann::json::parse(folder_.Read("out/result.json"));
  EXPECT_EQ(record["model"]["digest"], last.model_digest());
  EXPECT_EQ(record["job"]["state"], "SUCCEEDED");

  EXPECT_THAT(Log(/*follow=*/true),
              AllOf(Contains(HasSubstr("submitted")),
                    Contains(HasSubstr("epoch 1: 100 examples")),
                    Contains(HasSubstr("succeeded"))));
  tasks_.stopped().Wait();
  parameters_.dropped().Wait();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path("state/spool")));
  EXPECT_THAT(
      Call(jobs_->async(), &Jobs::FindTables, find, {}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("SUCCEEDED")));
}

TEST_F(SchedulerTest, ABadSpecificationIsRefusedLineByLine) {
  const absl::Status status =
      Submit("train: {epoch: 3}\nsync: {mode: bps}\n").status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("test.yaml:5:9"), HasSubstr("'epochs'"),
                             HasSubstr("\ntest.yaml:6:"))));
  EXPECT_THAT(Submit("data: {format: libsvm, train: [nowhere]}\n").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(folder_.Path("nowhere"))));
  const auto jobs =
      Call(jobs_->async(), &Jobs::ListJobs, v1::ListJobsRequest(), {});
  ASSERT_THAT(jobs, IsOk());
  EXPECT_EQ(jobs->jobs_size(), 0);
}

TEST_F(SchedulerTest, ASubmissionMayBeRepeated) {
  const auto first = Submit("", "mine");
  ASSERT_THAT(first, IsOk());
  const auto again = Submit("", "mine");
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(first->id(), again->id());
  EXPECT_THAT(Submit("ranks: 2\n", "mine").status(),
              StatusIs(absl::StatusCode::kAlreadyExists));
  job_ = first->id();
  EXPECT_EQ(Get().state(), v1::PENDING);
  EXPECT_THAT(Get().waiting_for(), HasSubstr("no server"));
}

TEST_F(SchedulerTest, StrangersAreRefused) {
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(Register("s", v1::NODE_ROLE_SERVER, kServer, "other"),
              StatusIs(kRefused, HasSubstr("cluster.name")));
  EXPECT_THAT(Register("s", v1::NODE_ROLE_SERVER, kServer, "seraph", "99.9.9"),
              StatusIs(kRefused, HasSubstr("99.9.9")));
  EXPECT_THAT(Register("", v1::NODE_ROLE_SERVER, kServer),
              StatusIs(absl::StatusCode::kInvalidArgument));
  v1::HeartbeatRequest heartbeat;
  heartbeat.set_name("s");
  heartbeat.set_incarnation(kServer);
  EXPECT_THAT(
      Call(cluster_->async(), &Cluster::Heartbeat, heartbeat, {}).status(),
      StatusIs(absl::StatusCode::kNotFound));
  RegisterNodes();
  EXPECT_THAT(
      Call(cluster_->async(), &Cluster::Heartbeat, heartbeat, {}).status(),
      IsOk());
  const auto described =
      Call(cluster_->async(), &Cluster::DescribeCluster, {}, {});
  ASSERT_THAT(described, IsOk());
  ASSERT_EQ(described->nodes_size(), 2);
  EXPECT_EQ(described->nodes(0).state(), "ALIVE");
}

TEST_F(SchedulerTest, AModelToStartFromIsLoadedRowByRow) {
  SubmitAndRun("train: {epochs: 1}\n");
  parameters_.SetRows(0, 0, {{0, {0.5f}}});
  parameters_.SetRows(1, 0, {{0, {1}}, {1, {2}}});
  parameters_.SetRows(1, 1, {{2, {3}}, {3, {4}}, {4, {5}}});
  Train(/*validates=*/false);
  ASSERT_EQ(Watch().back().state(), v1::SUCCEEDED);
  parameters_.SetRows(0, 0, {});
  parameters_.SetRows(1, 0, {});
  parameters_.SetRows(1, 1, {});
  parameters_.FailNextLoad();  // It is tried again.
  const auto next = Submit(
      "init: {model: out/model}\noutput: {directory: out2}\n"
      "train: {epochs: 1}\n");
  ASSERT_THAT(next, IsOk());
  job_ = next->id();
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_id(job_);
  const auto reader = jobs_->WatchJob(&context, request);
  v1::JobStatus status;
  while (status.phase() != "training") {
    ASSERT_TRUE(reader->Read(&status)) << status.error();
  }
  EXPECT_THAT(parameters_.GetRows(1, 0), SizeIs(2));
  EXPECT_THAT(parameters_.GetRows(1, 1), SizeIs(3));
  EXPECT_THAT(parameters_.GetRows(0, 0)[0], ElementsAre(0.5f));
  context.TryCancel();
  reader->Finish();
}

TEST_F(SchedulerTest, AnExportGoesOnWhereItsStreamBroke) {
  SubmitAndRun("train: {epochs: 1}\n");
  parameters_.SetRows(0, 0, {{0, {1}}});
  parameters_.SetRows(1, 0, {{0, {1}}, {1, {2}}});
  parameters_.SetRows(1, 1, {{2, {3}}});
  parameters_.BreakNextExport(/*after=*/1);
  Train(false);
  const v1::JobStatus last = Watch().back();
  ASSERT_EQ(last.state(), v1::SUCCEEDED) << last.error();
  const auto model = LoadModel(last.model_path());
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->tables[1].keys, ElementsAre(0, 1, 2));
}

TEST_F(SchedulerTest, CancellingAnExportLeavesNoFile) {
  SubmitAndRun("train: {epochs: 1}\n");
  parameters_.HangExports();
  Train(false);
  parameters_.exports().Wait();
  v1::CancelJobRequest request;
  request.set_id(job_);
  const auto cancelled = Call(jobs_->async(), &Jobs::CancelJob, request, {});
  ASSERT_THAT(cancelled, IsOk());
  EXPECT_EQ(cancelled->state(), v1::CANCELLED);
  parameters_.dropped().Wait();
  scheduler_.reset();  // What was under way has ended.
  const auto files = std::filesystem::directory_iterator(folder_.Path("out"));
  for (const auto& file : files) {
    EXPECT_EQ(file.path().filename(), "result.json");
  }
}

TEST_F(SchedulerTest, AnExportThatCannotBeWrittenNamesThePath) {
  SubmitAndRun("train: {epochs: 1}\n");
  std::filesystem::remove_all(folder_.Path("out"));
  folder_.Write("out", "a file in the folder's place");
  Train(false);
  const v1::JobStatus last = Watch().back();
  EXPECT_EQ(last.state(), v1::FAILED);
  EXPECT_THAT(last.error(), HasSubstr(folder_.Path("out")));
  EXPECT_EQ(last.model_path(), "");
  EXPECT_EQ(folder_.Read("out"), "a file in the folder's place");
  parameters_.dropped().Wait();
}

TEST_F(SchedulerTest, ARankThatAsksAgainGetsTheSameAnswer) {
  SubmitAndRun("train: {epochs: 2}\nranks: 2\n");
  auto first = Meet(/*validates=*/false, /*rank=*/0);
  auto second = Meet(false, 1);
  for (Meeting* meeting : {first.get(), second.get()}) {
    const auto stop = meeting->Wait();
    ASSERT_THAT(stop, IsOk());
    EXPECT_FALSE(*stop);
  }
  const auto again = Meet(false, 0)->Wait();
  ASSERT_THAT(again, IsOk());
  EXPECT_FALSE(*again);
}

TEST_F(SchedulerTest, ARankThatWaitsNoMoreIsForgotten) {
  SubmitAndRun("train: {epochs: 2}\nranks: 2\n");
  auto gone = Meet(false, 0);
  gone->context.TryCancel();
  EXPECT_THAT(gone->Wait(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(Meet(false, 0, /*complete=*/false)->Wait(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(Get().state(), v1::RUNNING);
}

TEST_F(SchedulerTest, ARankThatFailsFailsTheJob) {
  SubmitAndRun();
  ASSERT_THAT(EndRank(absl::InternalError("the reason")), IsOk());
  const v1::JobStatus last = Watch().back();
  EXPECT_EQ(last.state(), v1::FAILED);
  EXPECT_THAT(last.error(), HasSubstr("the reason"));
  tasks_.stopped().Wait();
  parameters_.dropped().Wait();
}

TEST_F(SchedulerTest, AWorkersRestartIsSurvivedAndShownToWhoWatches) {
  SubmitAndRun();
  ASSERT_THAT(Register("w", v1::NODE_ROLE_WORKER, kWorker + 1), IsOk());
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_id(job_);
  const auto reader = jobs_->WatchJob(&context, request);
  v1::JobStatus status;
  while (status.recoveries() == 0) ASSERT_TRUE(reader->Read(&status));
  EXPECT_EQ(status.state(), v1::RUNNING);
  context.TryCancel();
  reader->Finish();
}

class ForgetfulSchedulerTest : public SchedulerTest {
 protected:
  ForgetfulSchedulerTest() : SchedulerTest(StoreKind::kMemory) {}
};

TEST_F(ForgetfulSchedulerTest, StoppingEndsJobsAndTellsEverybodyWhoWaits) {
  SubmitAndRun("train: {epochs: 2}\nranks: 2\n");
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_id(job_);
  const auto reader = jobs_->WatchJob(&context, request);
  v1::JobStatus status;
  ASSERT_TRUE(reader->Read(&status));
  auto waiting = Meet(false);
  scheduler_->Stop();
  EXPECT_FALSE(waiting->Wait().ok());
  while (reader->Read(&status)) {
  }
  reader->Finish();
  EXPECT_EQ(status.state(), v1::FAILED);
  EXPECT_THAT(status.error(), HasSubstr("scheduler was stopped"));
  EXPECT_TRUE(tasks_.stopped().HasBeenNotified());
  EXPECT_TRUE(parameters_.dropped().HasBeenNotified());
}

TEST_F(SchedulerTest, StoppingLeavesTheJobsOnTheNodes) {
  SubmitAndRun("train: {epochs: 2}\nranks: 2\n");
  auto waiting = Meet(false);
  scheduler_->Stop();
  EXPECT_THAT(waiting->Wait(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(tasks_.stopped().HasBeenNotified());
  EXPECT_FALSE(parameters_.dropped().HasBeenNotified());
  EXPECT_THAT(scheduler_->halted(), IsOk());
}

TEST_F(SchedulerTest, AnOldCopyOfTheStateIsRefusedByWhoHasSeenMore) {
  v1::RegisterRequest request;
  request.set_cluster("seraph");
  request.mutable_node()->set_name("s");
  request.mutable_node()->set_role(v1::NODE_ROLE_SERVER);
  request.mutable_node()->set_address("127.0.0.1:1");
  request.mutable_node()->set_incarnation(kServer);
  request.mutable_node()->set_version(kVersion);
  const auto reply = Call(cluster_->async(), &Cluster::Register, request, {});
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->term(), 1);
  request.set_term(2);
  EXPECT_THAT(Call(cluster_->async(), &Cluster::Register, request, {}).status(),
              StatusIs(absl::StatusCode::kUnavailable));
  scheduler_->Stop();
  EXPECT_THAT(
      scheduler_->halted(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("heard of term 2"), HasSubstr("old copy"))));
}

TEST_F(SchedulerTest, TheOnlyServerIsNotDrained) {
  RegisterNodes();
  v1::DrainRequest drain;
  drain.set_name("s");
  EXPECT_THAT(Call(cluster_->async(), &Cluster::Drain, drain, {}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  drain.set_name("x");
  EXPECT_THAT(Call(cluster_->async(), &Cluster::Drain, drain, {}).status(),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(SchedulerTest, UnknownJobsAreNotFound) {
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  v1::GetJobRequest get;
  get.set_id("none");
  EXPECT_THAT(Call(jobs_->async(), &Jobs::GetJob, get, {}).status(),
              StatusIs(kNotFound));
  v1::CancelJobRequest cancel;
  EXPECT_THAT(Call(jobs_->async(), &Jobs::CancelJob, cancel, {}).status(),
              StatusIs(kNotFound));
  v1::FindTablesRequest find;
  find.set_id("none");
  EXPECT_THAT(Call(jobs_->async(), &Jobs::FindTables, find, {}).status(),
              StatusIs(kNotFound));
  grpc::ClientContext context;
  const auto watch = jobs_->WatchJob(&context, {});
  v1::JobStatus status;
  EXPECT_FALSE(watch->Read(&status));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  grpc::ClientContext log_context;
  const auto log = jobs_->ReadJobLog(&log_context, {});
  v1::JobLogLine line;
  EXPECT_FALSE(log->Read(&line));
  EXPECT_EQ(log->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(SchedulerStartTest, EachStartIsAHigherTermAndOneAtATime) {
  const TempFolder folder;
  ClusterConfig config;
  config.scheduler.listen = "127.0.0.1:0";
  config.scheduler.state_directory = folder.Path("state");
  for (const uint64_t term : {1, 2}) {
    auto parts = OpenLocalState(config);
    ASSERT_THAT(parts, IsOk());
    EXPECT_EQ(parts->store->term(), term);
    const auto scheduler = Scheduler::Start(config, *std::move(parts));
    ASSERT_THAT(scheduler, IsOk());
    EXPECT_THAT(Scheduler::Start(config),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("another scheduler")));
  }
}

TEST(SchedulerStartTest, NamesWhatKeepsItFromStarting) {
  const TempFolder folder;
  ClusterConfig config;
  config.scheduler.listen = "127.0.0.1:0";
  config.scheduler.state_directory = folder.Write("file", "") + "/state";
  EXPECT_THAT(Scheduler::Start(config),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("scheduler.state_directory")));
  config.scheduler.state_directory = "";
  config.scheduler.listen = "nonsense";
  EXPECT_THAT(Scheduler::Start(config).status().ToString(),
              HasSubstr("scheduler.listen"));
}

}  // namespace
}  // namespace seraph
