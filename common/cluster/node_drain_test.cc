#include "common/cluster/node_drain.h"

#include <atomic>
#include <memory>
#include <string>

#include "common/rpc/grpc_status.h"
#include "common/rpc/rpc_server.h"
#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "proto/cluster.grpc.pb.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;

class FakeScheduler final : public v1::Cluster::CallbackService {
 public:
  FakeScheduler() {
    auto server =
        RpcServer::Start({}, {{v1::Cluster::service_full_name(), this}});
    EXPECT_THAT(server, IsOk());
    server_ = *std::move(server);
  }

  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request,
                                  v1::DrainReply* reply) override {
    EXPECT_EQ(request->name(), "server-1");
    EXPECT_EQ(request->incarnation(), 7);
    EXPECT_TRUE(request->leaving());
    ++asked;
    reply->set_drained(left-- <= 0);
    reply->set_all_servers_stop(all_stop);
    auto* reactor = context->DefaultReactor();
    // The first answers are those of a scheduler that has just started.
    reactor->Finish(ToGrpcStatus(
        unready-- > 0 ? absl::UnavailableError("not yet") : answer));
    return reactor;
  }

  const std::string& address() const { return server_->address(); }

  absl::Status answer;
  bool all_stop = false;
  std::atomic<int> unready = 0;
  std::atomic<int> left = 0;  // Times that something is left.
  std::atomic<int> asked = 0;

 private:
  std::unique_ptr<RpcServer> server_;
};

NodeDrainOptions OptionsFor(const std::string& scheduler) {
  return {.scheduler = scheduler,
          .name = "server-1",
          .incarnation = 7,
          .patience = absl::Hours(1),
          .patience_to_save = absl::Hours(1),
          .retry_backoff = absl::Milliseconds(1),
          .retry_backoff_max = absl::Milliseconds(2)};
}

TEST(NodeDrainTest, ItAsksUntilNothingIsLeft) {
  FakeScheduler scheduler;
  scheduler.unready = 3;
  scheduler.left = 5;
  EXPECT_THAT(DrainNode(OptionsFor(scheduler.address())), IsOk());
  EXPECT_EQ(scheduler.asked, 6);
}

TEST(NodeDrainTest, WhatIsLeftIsWaitedForNoLongerThanItMust) {
  FakeScheduler scheduler;
  scheduler.left = 1'000'000;
  NodeDrainOptions options = OptionsFor(scheduler.address());
  options.patience = absl::ZeroDuration();
  EXPECT_THAT(DrainNode(options),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(scheduler.asked, 1);
}

TEST(NodeDrainTest, ToSaveTheJobsHasATimeOfItsOwn) {
  FakeScheduler scheduler;
  scheduler.left = 3;
  scheduler.all_stop = true;
  NodeDrainOptions options = OptionsFor(scheduler.address());
  options.patience = absl::ZeroDuration();
  EXPECT_THAT(DrainNode(options), IsOk());
}

TEST(NodeDrainTest, ARefusalIsAnAnswer) {
  FakeScheduler scheduler;
  scheduler.answer = absl::InvalidArgumentError("what?");
  EXPECT_THAT(DrainNode(OptionsFor(scheduler.address())),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(NodeDrainTest, WithoutASchedulerItGivesUpSoon) {
  EXPECT_THAT(DrainNode(OptionsFor("127.0.0.1:1")),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST(NodeDrainTest, AnEmptyNodeHearsWhetherSomethingIsOnItsWayToIt) {
  FakeScheduler scheduler;
  scheduler.left = 3;
  NodeDrainOptions options = OptionsFor(scheduler.address());
  options.is_empty = true;
  EXPECT_THAT(DrainNode(options), IsOk());
  EXPECT_EQ(scheduler.asked, 4);
}

TEST(NodeDrainTest, AnEmptyNodeAsksOnlyOnce) {
  FakeScheduler scheduler;
  scheduler.unready = 1'000'000;
  NodeDrainOptions options = OptionsFor(scheduler.address());
  options.is_empty = true;
  EXPECT_THAT(DrainNode(options), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(scheduler.asked, 1);
}

}  // namespace
}  // namespace seraph
