#include "common/cluster/cluster_agent.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/concurrent/mutex.h"
#include "common/log/log.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/rpc_server.h"
#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "common/wire/cluster_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/cluster.grpc.pb.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::TempFolder;
using ::testing::ElementsAre;

// What has happened, in order; a test waits until it did.
class Diary {
 public:
  void Write(const std::string& event) {
    MutexLock lock(&mu_);
    events_.push_back(event);
    changed_.NotifyAll();
  }

  int Count(const std::string& event) const {
    MutexLock lock(&mu_);
    return CountLocked(event);
  }

  void WaitFor(const std::string& event, int times = 1) const {
    MutexLock lock(&mu_);
    while (CountLocked(event) < times) changed_.Wait(&mu_);
  }

  // Without what comes again and again.
  std::vector<std::string> Without(const std::string& event) const {
    MutexLock lock(&mu_);
    std::vector<std::string> result;
    for (const std::string& one : events_) {
      if (one != event) result.push_back(one);
    }
    return result;
  }

 private:
  int CountLocked(const std::string& event) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return std::count(events_.begin(), events_.end(), event);
  }

  mutable Mutex mu_;
  mutable CondVar changed_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mu_);
};

// A scheduler of which a test says what it answers.
class FakeScheduler final : public v1::Cluster::CallbackService {
 public:
  explicit FakeScheduler(Diary* diary) : diary_(*diary) {}

  // Errors for the next calls; the last stays.
  void AnswerRegister(absl::Status status) {
    MutexLock lock(&mu_);
    register_ = std::move(status);
  }
  void AnswerHeartbeat(absl::Status status) {
    MutexLock lock(&mu_);
    heartbeat_ = std::move(status);
  }
  // What all further calls are answered with.
  void SetTerm(uint64_t term) {
    MutexLock lock(&mu_);
    term_ = term;
  }
  void SetIncarnation(uint64_t incarnation) {
    MutexLock lock(&mu_);
    incarnation_ = incarnation;
  }
  // Register is never answered.
  void ParkRegister() {
    MutexLock lock(&mu_);
    park_ = true;
  }

  v1::RegisterRequest last_register() const {
    MutexLock lock(&mu_);
    return last_register_;
  }
  v1::HeartbeatRequest last_heartbeat() const {
    MutexLock lock(&mu_);
    return last_heartbeat_;
  }
  v1::LeaveRequest last_leave() const {
    MutexLock lock(&mu_);
    return last_leave_;
  }

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1::RegisterRequest* request,
                                     v1::RegisterReply* reply) override {
    reply->set_heartbeat_interval_ms(10);
    reply->set_heartbeat_timeout_ms(60'000);
    absl::Status status;
    bool park = false;
    {
      MutexLock lock(&mu_);
      reply->set_scheduler_incarnation(incarnation_);
      last_register_ = *request;
      reply->set_term(term_);
      status = register_;
      park = park_;
    }
    diary_.Write("register");
    if (park) return new Parked();
    return Answer(context, status);
  }

  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context,
                                      const v1::HeartbeatRequest* request,
                                      v1::HeartbeatReply* reply) override {
    absl::Status status;
    {
      MutexLock lock(&mu_);
      reply->set_scheduler_incarnation(incarnation_);
      last_heartbeat_ = *request;
      reply->set_term(term_);
      status = heartbeat_;
      // Declared dead once: alive again after it has registered.
      if (absl::IsNotFound(heartbeat_)) heartbeat_ = absl::OkStatus();
    }
    diary_.Write("heartbeat");
    return Answer(context, status);
  }

  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext* context,
                                  const v1::LeaveRequest* request,
                                  v1::LeaveReply* reply) override {
    {
      MutexLock lock(&mu_);
      last_leave_ = *request;
    }
    diary_.Write("leave");
    return Answer(context, absl::OkStatus());
  }

 private:
  struct Parked final : public grpc::ServerUnaryReactor {
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }
  };

  static grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                          const absl::Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }

  Diary& diary_;
  mutable Mutex mu_;
  absl::Status register_ ABSL_GUARDED_BY(mu_);
  absl::Status heartbeat_ ABSL_GUARDED_BY(mu_);
  bool park_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t term_ ABSL_GUARDED_BY(mu_) = 1;
  uint64_t incarnation_ ABSL_GUARDED_BY(mu_) = 5;
  v1::RegisterRequest last_register_ ABSL_GUARDED_BY(mu_);
  v1::HeartbeatRequest last_heartbeat_ ABSL_GUARDED_BY(mu_);
  v1::LeaveRequest last_leave_ ABSL_GUARDED_BY(mu_);
};

Node TestNode() {
  return {.name = "server-0",
          .role = NodeRole::kServer,
          .address = "10.0.0.1:7401",
          .incarnation = 77,
          .host = "host",
          .arithmetic = "bits",
          .version = "0.1.0",
          .slots = 3};
}

class ClusterAgentTest : public ::testing::Test {
 protected:
  ~ClusterAgentTest() override {
    agent_.reset();
    server_.reset();
  }

  void StartScheduler(const std::string& listen = "127.0.0.1:0") {
    auto server = RpcServer::Start(
        {.listen = listen}, {{v1::Cluster::service_full_name(), &scheduler_}});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    address_ = server_->address();
  }

  void StartAgent() {
    agent_ = std::make_unique<ClusterAgent>(
        ClusterAgentOptions{.cluster = "test",
                            .scheduler = address_,
                            .node = TestNode(),
                            .terms = &terms_,
                            .call_timeout = absl::Hours(1),
                            .retry_backoff = absl::Milliseconds(1),
                            .retry_backoff_max = absl::Milliseconds(5)},
        ClusterAgentCallbacks{
            .load =
                [] {
                  return NodeLoad{.memory_bytes = 1,
                                  .partitions = 2,
                                  .rows = 3,
                                  .ranks = 4};
                },
            .held =
                [] {
                  return std::vector<HeldPartition>{{"job-1", 2, 3, 4, 5}};
                },
            .silent_peers =
                [] {
                  return std::vector<uint64_t>{8, 9};
                },
            .on_lost = [this] { diary_.Write("lost"); },
            .on_other_scheduler = [this] { diary_.Write("other"); },
            .on_connected =
                [this](bool connected) {
                  diary_.Write(connected ? "connected" : "disconnected");
                }});
    agent_->Start();
  }

  Diary diary_;
  FakeScheduler scheduler_{&diary_};
  std::unique_ptr<RpcServer> server_;
  std::string address_;
  TermGuard terms_;
  std::unique_ptr<ClusterAgent> agent_;
};

TEST_F(ClusterAgentTest, RegistersThenHeartbeatsThenLeaves) {
  StartScheduler();
  StartAgent();
  diary_.WaitFor("heartbeat", 3);
  agent_->Stop();
  EXPECT_THAT(diary_.Without("heartbeat"),
              ElementsAre("register", "connected", "leave"));

  EXPECT_EQ(scheduler_.last_register().cluster(), "test");
  EXPECT_THAT(FromProto(scheduler_.last_register().node()),
              IsOkAndHolds(TestNode()));
  const v1::HeartbeatRequest heartbeat = scheduler_.last_heartbeat();
  EXPECT_EQ(heartbeat.name(), "server-0");
  EXPECT_EQ(heartbeat.incarnation(), 77);
  EXPECT_EQ(heartbeat.load().memory_bytes(), 1);
  EXPECT_EQ(heartbeat.load().partitions(), 2);
  EXPECT_EQ(heartbeat.load().rows(), 3);
  EXPECT_EQ(heartbeat.load().ranks(), 4);
  EXPECT_EQ(scheduler_.last_leave().name(), "server-0");
  EXPECT_EQ(scheduler_.last_leave().incarnation(), 77);
}

TEST_F(ClusterAgentTest, ASchedulerHearsWhatWasSeenAndIsHeld) {
  terms_.Heard(6);
  scheduler_.SetTerm(7);
  StartScheduler();
  StartAgent();
  diary_.WaitFor("heartbeat");
  EXPECT_EQ(terms_.highest(), 7);
  const v1::RegisterRequest request = scheduler_.last_register();
  EXPECT_EQ(request.term(), 6);
  ASSERT_EQ(request.held_size(), 1);
  EXPECT_EQ(request.held(0).job().id(), "job-1");
  EXPECT_EQ(request.held(0).job().generation(), 2);
  EXPECT_EQ(request.held(0).table(), 3);
  EXPECT_EQ(request.held(0).partition(), 4);
  EXPECT_EQ(request.held(0).epoch(), 5);
  EXPECT_THAT(scheduler_.last_heartbeat().silent_peers(), ElementsAre(8, 9));
}

TEST_F(ClusterAgentTest, WhoHearsOfAnotherTermRegistersAgain) {
  StartScheduler();
  StartAgent();
  diary_.WaitFor("heartbeat");
  scheduler_.SetTerm(2);
  diary_.WaitFor("register", 2);
  // The next one says that the answer has come.
  diary_.WaitFor("heartbeat", diary_.Count("heartbeat") + 1);
  agent_->Stop();
  EXPECT_EQ(terms_.highest(), 2);
  EXPECT_THAT(diary_.Without("heartbeat"),
              ElementsAre("register", "connected", "register", "leave"));
}

TEST_F(ClusterAgentTest, AnotherSchedulerIsTold) {
  StartScheduler();
  StartAgent();
  diary_.WaitFor("heartbeat");
  scheduler_.SetIncarnation(6);
  diary_.WaitFor("register", 2);
  diary_.WaitFor("heartbeat", diary_.Count("heartbeat") + 1);
  agent_->Stop();
  EXPECT_THAT(
      diary_.Without("heartbeat"),
      ElementsAre("register", "connected", "register", "other", "leave"));
}

TEST_F(ClusterAgentTest, OfSeveralSchedulersTheOneThatLeadsIsFound) {
  StartScheduler();
  scheduler_.AnswerRegister(
      WithReason(absl::UnavailableError("another one leads"), "NOT_LEADER"));
  Diary leader_diary;
  FakeScheduler leader(&leader_diary);
  auto leader_server = RpcServer::Start(
      {.listen = "127.0.0.1:0"}, {{v1::Cluster::service_full_name(), &leader}});
  ASSERT_THAT(leader_server, IsOk());
  address_ = absl::StrCat(address_, ",", (*leader_server)->address());
  StartAgent();
  leader_diary.WaitFor("heartbeat", 2);
  EXPECT_EQ(diary_.Count("register"), 1);

  // It changes.
  scheduler_.AnswerRegister(absl::OkStatus());
  scheduler_.AnswerHeartbeat(absl::NotFoundError("who?"));
  leader_server->reset();
  diary_.WaitFor("register", 2);
  diary_.WaitFor("heartbeat", 2);
  agent_->Stop();
  EXPECT_THAT(leader_diary.Without("heartbeat"), ElementsAre("register"));
}

TEST_F(ClusterAgentTest, WhoIsForgottenRegistersAgain) {
  StartScheduler();
  StartAgent();
  diary_.WaitFor("heartbeat");
  scheduler_.AnswerHeartbeat(absl::NotFoundError("declared dead"));
  diary_.WaitFor("connected", 2);
  agent_->Stop();
  EXPECT_THAT(diary_.Without("heartbeat"),
              ElementsAre("register", "connected", "disconnected", "lost",
                          "register", "connected", "leave"));
}

TEST_F(ClusterAgentTest, AnUnreachableSchedulerIsNoReasonToDropAnything) {
  StartScheduler();
  StartAgent();
  diary_.WaitFor("heartbeat");
  server_.reset();
  diary_.WaitFor("disconnected");
  StartScheduler(address_);
  diary_.WaitFor("connected", 2);
  agent_->Stop();
  EXPECT_THAT(diary_.Without("heartbeat"),
              ElementsAre("register", "connected", "disconnected", "connected",
                          "leave"));
}

TEST_F(ClusterAgentTest, ASchedulerThatComesLaterIsFound) {
  StartScheduler();
  server_.reset();
  StartAgent();
  StartScheduler(address_);
  diary_.WaitFor("connected");
}

TEST_F(ClusterAgentTest, ARefusalIsLoggedOnceAndTriedAgain) {
  const TempFolder folder;
  ASSERT_THAT(SetUpLogging({.file = folder.Path("log")}, "test"), IsOk());
  StartScheduler();
  scheduler_.AnswerRegister(
      absl::FailedPreconditionError("this is cluster prod"));
  StartAgent();
  diary_.WaitFor("register", 5);
  scheduler_.AnswerRegister(absl::OkStatus());
  diary_.WaitFor("heartbeat");
  agent_->Stop();
  ASSERT_THAT(SetUpLogging({}, "test"), IsOk());

  Diary events;
  std::istringstream lines(folder.Read("log"));
  std::string time, level, component, event, rest;
  while (lines >> time >> level >> component >> event) {
    std::getline(lines, rest);
    events.Write(event);
  }
  EXPECT_THAT(events.Without(""),
              ElementsAre("scheduler.refused", "scheduler.registered",
                          "scheduler.left"));
}

TEST_F(ClusterAgentTest, StopEndsACallThatIsNotAnswered) {
  StartScheduler();
  scheduler_.ParkRegister();
  StartAgent();
  diary_.WaitFor("register");
  agent_->Stop();
  EXPECT_THAT(diary_.Without(""), ElementsAre("register"));
}

TEST_F(ClusterAgentTest, StopEndsThePauseBetweenAttempts) {
  StartScheduler();
  server_.reset();
  agent_ = std::make_unique<ClusterAgent>(
      ClusterAgentOptions{.scheduler = address_,
                          .node = TestNode(),
                          .retry_backoff = absl::Hours(1),
                          .retry_backoff_max = absl::Hours(1)},
      ClusterAgentCallbacks{});
  agent_->Start();
  agent_->Stop();
  agent_->Stop();
}

}  // namespace
}  // namespace seraph
