#include "client/rpc/grpc_scheduler_client.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/concurrent/notification.h"
#include "common/rpc/grpc_status.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/cluster.grpc.pb.h"
#include "proto/jobs.grpc.pb.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;

// Answers as a scheduler would, in as few words as possible.
class FakeJobs final : public v1::Jobs::Service {
 public:
  v1::SubmitJobRequest submitted;
  Notification watched;  // WatchJob of "silent" has told its first status.

  grpc::Status SubmitJob(grpc::ServerContext*,
                         const v1::SubmitJobRequest* request,
                         v1::SubmitJobReply* reply) override {
    submitted = *request;
    if (request->yaml().empty()) {
      return ToGrpcStatus(absl::InvalidArgumentError("job.yaml:1:1: empty"));
    }
    reply->set_id("j1");
    return grpc::Status::OK;
  }

  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::JobStatus* reply) override {
    if (request->id() == "cut off") return grpc::Status::CANCELLED;
    if (request->id() != "j1") {
      return ToGrpcStatus(absl::NotFoundError("no such job"));
    }
    Fill(v1::RUNNING, reply);
    return grpc::Status::OK;
  }

  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*,
                        v1::ListJobsReply* reply) override {
    Fill(v1::PENDING, reply->add_jobs());
    Fill(v1::CANCELLED, reply->add_jobs());
    return grpc::Status::OK;
  }

  grpc::Status WatchJob(grpc::ServerContext* context,
                        const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::JobStatus>* writer) override {
    v1::JobStatus status;
    Fill(v1::RUNNING, &status);
    writer->Write(status);
    if (request->id() == "cut off") return grpc::Status::CANCELLED;
    if (request->id() == "silent") {
      watched.Notify();
      while (!context->IsCancelled()) std::this_thread::yield();
      return grpc::Status::CANCELLED;
    }
    Fill(v1::SUCCEEDED, &status);
    writer->Write(status);
    return grpc::Status::OK;
  }

  grpc::Status ReadJobLog(grpc::ServerContext*,
                          const v1::ReadJobLogRequest* request,
                          grpc::ServerWriter<v1::JobLogLine>* writer) override {
    v1::JobLogLine line;
    for (const char* text : {"one", "two", request->follow() ? "end" : "now"}) {
      line.set_text(text);
      writer->Write(line);
    }
    return grpc::Status::OK;
  }

  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest*,
                         v1::JobStatus* reply) override {
    Fill(v1::CANCELLED, reply);
    return grpc::Status::OK;
  }

 private:
  static void Fill(v1::JobState state, v1::JobStatus* status) {
    status->set_id("j1");
    status->set_name("lr");
    status->set_state(state);
    status->set_phase("training");
    status->set_model_path("/m");
    status->set_model_digest("sha256:1");
    status->set_records_read(10);
    status->set_records_bad(1);
    status->set_recoveries(2);
    status->set_epochs_total(3);
    status->set_epoch_examples(4);
    status->set_epoch_examples_total(5);
    status->set_examples_per_second(6);
    status->set_phase_fraction(0.5);
    status->set_ranks(7);
    status->set_error("e");
    status->set_submitted("s");
    status->set_started("t");
    status->set_ended("u");
    status->clear_warnings();
    status->add_warnings(std::string("w"));
    status->clear_epochs();
    v1::EpochStatus* epoch = status->add_epochs();
    epoch->set_epoch(1);
    epoch->set_examples(9);
    epoch->set_seconds(0.5);
    v1::Metric* metric = epoch->add_train();
    metric->set_name("loss");
    metric->set_value(0.25);
    metric = epoch->add_validation();
    metric->set_name("auc");
    metric->set_value(0.75);
  }
};

class FakeCluster final : public v1::Cluster::Service {
 public:
  grpc::Status DescribeCluster(grpc::ServerContext*,
                               const v1::DescribeClusterRequest*,
                               v1::DescribeClusterReply* reply) override {
    reply->set_cluster("c");
    reply->set_version("1.2.3");
    reply->set_running_jobs(1);
    reply->set_pending_jobs(2);
    v1::NodeStatus* node = reply->add_nodes();
    node->set_state("ALIVE");
    node->set_last_heartbeat_ms(250);
    node->mutable_node()->set_name("n");
    node->mutable_node()->set_role(v1::NODE_ROLE_WORKER);
    node->mutable_node()->set_address("h:1");
    node->mutable_node()->set_version("1.2.4");
    node->mutable_load()->set_memory_bytes(3);
    node->mutable_load()->set_partitions(4);
    node->mutable_load()->set_rows(5);
    node->mutable_load()->set_ranks(6);
    return grpc::Status::OK;
  }
};

class GrpcSchedulerClientTest : public ::testing::Test {
 protected:
  GrpcSchedulerClientTest()
      : server_(grpc::ServerBuilder()
                    .AddListeningPort("127.0.0.1:0",
                                      grpc::InsecureServerCredentials(), &port_)
                    .RegisterService(&jobs_)
                    .RegisterService(&cluster_)
                    .BuildAndStart()),
        client_(MakeGrpcSchedulerClient(absl::StrCat("127.0.0.1:", port_),
                                        absl::Seconds(60), &interrupt_)) {}

  FakeJobs jobs_;
  FakeCluster cluster_;
  int port_ = 0;
  Interrupt interrupt_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<SchedulerClient> client_;
};

TEST_F(GrpcSchedulerClientTest, SubmitsAndPassesRefusalsOn) {
  EXPECT_THAT(client_->SubmitJob({"name: x", "job.yaml", "/base", "s1"}),
              IsOkAndHolds(Eq("j1")));
  EXPECT_EQ(jobs_.submitted.yaml(), "name: x");
  EXPECT_EQ(jobs_.submitted.file_name(), "job.yaml");
  EXPECT_EQ(jobs_.submitted.base_directory(), "/base");
  EXPECT_EQ(jobs_.submitted.submission_id(), "s1");
  EXPECT_THAT(
      client_->SubmitJob({}),
      StatusIs(absl::StatusCode::kInvalidArgument, Eq("job.yaml:1:1: empty")));
}

TEST_F(GrpcSchedulerClientTest, AJobWithAllThatIsKnownOfIt) {
  const absl::StatusOr<JobView> job = client_->GetJob("j1");
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->id, "j1");
  EXPECT_EQ(job->name, "lr");
  EXPECT_EQ(job->state, JobState::kRunning);
  EXPECT_EQ(job->phase, "training");
  EXPECT_EQ(job->error, "e");
  EXPECT_EQ(job->submitted, "s");
  EXPECT_EQ(job->started, "t");
  EXPECT_EQ(job->ended, "u");
  EXPECT_EQ(job->model_path, "/m");
  EXPECT_EQ(job->model_digest, "sha256:1");
  EXPECT_EQ(job->records_read, 10);
  EXPECT_EQ(job->records_bad, 1);
  EXPECT_EQ(job->recoveries, 2);
  EXPECT_EQ(job->epochs_total, 3);
  EXPECT_EQ(job->epoch_examples, 4);
  EXPECT_EQ(job->epoch_examples_total, 5);
  EXPECT_EQ(job->examples_per_second, 6);
  EXPECT_EQ(job->phase_fraction, 0.5);
  EXPECT_EQ(job->ranks, 7);
  EXPECT_THAT(job->warnings, ElementsAre("w"));
  ASSERT_EQ(job->epochs.size(), 1);
  EXPECT_EQ(job->epochs[0].epoch, 1);
  EXPECT_EQ(job->epochs[0].examples, 9);
  EXPECT_EQ(job->epochs[0].seconds, 0.5);
  EXPECT_EQ(job->epochs[0].train, (NamedValues{{"loss", 0.25}}));
  EXPECT_EQ(job->epochs[0].validation, (NamedValues{{"auc", 0.75}}));
  EXPECT_THAT(client_->GetJob("x"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(GrpcSchedulerClientTest, ListsAndCancels) {
  const absl::StatusOr<std::vector<JobView>> jobs = client_->ListJobs();
  ASSERT_THAT(jobs, IsOk());
  ASSERT_EQ(jobs->size(), 2);
  EXPECT_EQ((*jobs)[1].state, JobState::kCancelled);
  const absl::StatusOr<JobView> job = client_->CancelJob("j1");
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->state, JobState::kCancelled);
}

TEST_F(GrpcSchedulerClientTest, WatchesUntilTheEnd) {
  std::vector<JobState> states;
  EXPECT_THAT(
      client_->WatchJob(
          "j1", [&](const JobView& job) { states.push_back(job.state); }),
      IsOk());
  EXPECT_THAT(states, ElementsAre(JobState::kRunning, JobState::kSucceeded));
}

TEST_F(GrpcSchedulerClientTest, AnInterruptEndsAWatchButNotTheCallsAfterIt) {
  std::thread user([&] {
    jobs_.watched.Wait();
    interrupt_.Trigger();
  });
  EXPECT_THAT(client_->WatchJob("silent", [](const JobView&) {}),
              StatusIs(absl::StatusCode::kCancelled));
  user.join();
  EXPECT_THAT(client_->CancelJob("j1"), IsOk());
}

// As a scheduler does that leads no more, and ends.
TEST_F(GrpcSchedulerClientTest, ACallThatTheSchedulerBreaksOffIsNoInterrupt) {
  const auto broken_off = StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("it broke the call off"));
  EXPECT_THAT(client_->GetJob("cut off"), broken_off);
  EXPECT_THAT(client_->WatchJob("cut off", [](const JobView&) {}), broken_off);
}

TEST_F(GrpcSchedulerClientTest, ReadsALogUntilItsReaderHasEnough) {
  std::vector<std::string> lines;
  const auto take = [&](const LogLine& line) {
    lines.push_back(line.text);
    return true;
  };
  EXPECT_THAT(client_->ReadJobLog("j1", false, take), IsOk());
  EXPECT_THAT(lines, ElementsAre("one", "two", "now"));
  lines.clear();
  EXPECT_THAT(client_->ReadJobLog("j1", true, take), IsOk());
  EXPECT_THAT(lines, ElementsAre("one", "two", "end"));
  int calls = 0;
  EXPECT_THAT(client_->ReadJobLog("j1", true,
                                  [&](const LogLine&) { return ++calls < 2; }),
              IsOk());
  EXPECT_EQ(calls, 2);
}

TEST_F(GrpcSchedulerClientTest, DescribesTheCluster) {
  const absl::StatusOr<ClusterView> cluster = client_->DescribeCluster();
  ASSERT_THAT(cluster, IsOk());
  EXPECT_EQ(cluster->name, "c");
  EXPECT_EQ(cluster->version, "1.2.3");
  EXPECT_EQ(cluster->running_jobs, 1);
  EXPECT_EQ(cluster->pending_jobs, 2);
  ASSERT_EQ(cluster->nodes.size(), 1);
  const NodeView& node = cluster->nodes[0];
  EXPECT_EQ(node.name, "n");
  EXPECT_EQ(node.role, "worker");
  EXPECT_EQ(node.state, "ALIVE");
  EXPECT_EQ(node.address, "h:1");
  EXPECT_EQ(node.version, "1.2.4");
  EXPECT_EQ(node.since_heartbeat, absl::Milliseconds(250));
  EXPECT_EQ(node.memory_bytes, 3);
  EXPECT_EQ(node.partitions, 4);
  EXPECT_EQ(node.rows, 5);
  EXPECT_EQ(node.ranks, 6);
}

TEST(UnreachableSchedulerTest, AnotherServerIsNoScheduler) {
  int port = 0;
  FakeCluster other;  // It has no Jobs.
  const std::unique_ptr<grpc::Server> server =
      grpc::ServerBuilder()
          .AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                            &port)
          .RegisterService(&other)
          .BuildAndStart();
  Interrupt interrupt;
  const auto client = MakeGrpcSchedulerClient(absl::StrCat("127.0.0.1:", port),
                                              absl::Seconds(60), &interrupt);
  EXPECT_THAT(client->ListJobs(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("what answers there is no Seraph scheduler")));
}

TEST(UnreachableSchedulerTest, IsNamedWithWhatToDo) {
  Interrupt interrupt;
  // Port 1 of this machine: nobody listens there.
  const auto client =
      MakeGrpcSchedulerClient("127.0.0.1:1", absl::Seconds(60), &interrupt);
  const auto unreachable =
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr("cannot reach the scheduler at 127.0.0.1:1"),
                     HasSubstr("SERAPH_SCHEDULER")));
  EXPECT_THAT(client->GetJob("x"), unreachable);
  EXPECT_THAT(client->WatchJob("x", [](const JobView&) {}), unreachable);
}

}  // namespace
}  // namespace seraph
