#include "server/drain.h"

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
    auto* reactor = context->DefaultReactor();
    // The first answers are those of a scheduler that has just started.
    reactor->Finish(ToGrpcStatus(
        unready_-- > 0 ? absl::UnavailableError("not yet") : answer));
    return reactor;
  }

  ClusterConfig Config() const {
    ClusterConfig config;
    config.cluster.scheduler = server_->address();
    config.rpc.retry_backoff = absl::Milliseconds(1);
    config.rpc.retry_backoff_max = absl::Milliseconds(2);
    return config;
  }

  absl::Status answer;
  std::atomic<int> unready_ = 0;

 private:
  std::unique_ptr<RpcServer> server_;
};

TEST(DrainTest, ItAsksUntilASchedulerAnswers) {
  FakeScheduler scheduler;
  scheduler.unready_ = 3;
  EXPECT_THAT(AskToDrain(scheduler.Config(), "server-1", 7), IsOk());
  EXPECT_LT(scheduler.unready_, 0);
}

TEST(DrainTest, NobodyWhoCanTakeOverIsAnAnswer) {
  FakeScheduler scheduler;
  scheduler.answer = absl::FailedPreconditionError("no other server");
  EXPECT_THAT(AskToDrain(scheduler.Config(), "server-1", 7),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(DrainTest, WithoutASchedulerItGivesUpSoon) {
  ClusterConfig config;
  config.cluster.scheduler = "127.0.0.1:1";
  config.rpc.retry_backoff = absl::Milliseconds(1);
  config.rpc.retry_backoff_max = absl::Milliseconds(2);
  EXPECT_THAT(AskToDrain(config, "server-1", 7),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST(DrainTest, ItWaitsNoLongerThanItMust) {
  Notification drained;
  EXPECT_FALSE(WaitUntilDrained(drained, absl::Milliseconds(10), [] {
    return true;
  })) << "the time is over";
  EXPECT_FALSE(WaitUntilDrained(drained, absl::Hours(1), [] { return false; }))
      << "no scheduler is there any more";
  drained.Notify();
  EXPECT_TRUE(WaitUntilDrained(drained, absl::Hours(1), [] { return false; }));
}

}  // namespace
}  // namespace seraph
