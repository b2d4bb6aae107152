#include "common/rpc/call.h"

#include <memory>
#include <string>
#include <utility>

#include "common/rpc/channel.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/scripted_cluster_service.h"
#include "common/status/errors.h"
#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::FakeClock;
using ::seraph::testing::IsOk;
using ::seraph::testing::ScriptedClusterService;
using ::seraph::testing::ScriptedRequest;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Pair;

using Async = v1::Cluster::StubInterface::async_interface;

constexpr absl::Duration kLong = absl::Hours(1);

class CallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server =
        RpcServer::Start({}, {{v1::Cluster::service_full_name(), &service_}});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    stub_ = v1::Cluster::NewStub(MakeChannel(server_->address(), {}));
  }

  absl::StatusOr<v1::RegisterReply> Register(v1::RegisterRequest request,
                                             const CallOptions& options) {
    return Call(stub_->async(), &Async::Register, std::move(request), options);
  }

  ScriptedClusterService service_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::Cluster::Stub> stub_;
};

TEST_F(CallTest, ReturnsTheReply) {
  const auto reply =
      Register(ScriptedRequest("echo", "seven"), {.timeout = kLong});
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->heartbeat_interval_ms(), 5);
}

TEST_F(CallTest, ReturnsWhatTheServerSaidOfAnError) {
  const auto reply = Register(ScriptedRequest("fail"), {.timeout = kLong});
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_EQ(ReasonOf(reply.status()), "MEMORY_LIMIT");
  EXPECT_THAT(ReasonValuesOf(reply.status()), ElementsAre(Pair("limit", "7")));
  EXPECT_EQ(RetryAfterOf(reply.status()), absl::Milliseconds(20));
}

TEST_F(CallTest, ManyCallsRunAtOnceAndEndOnce) {
  constexpr int kCalls = 200;
  Mutex mu;
  int ended = 0;
  int right = 0;
  Notification all;
  for (int i = 0; i < kCalls; ++i) {
    StartCall(stub_->async(), &Async::Register,
              ScriptedRequest("echo", std::string(i, 'x')), {.timeout = kLong},
              [&, i](absl::StatusOr<v1::RegisterReply> reply) {
                MutexLock lock(&mu);
                right += reply.ok() && reply->heartbeat_interval_ms() == i;
                if (++ended == kCalls) all.Notify();
              });
  }
  all.Wait();
  MutexLock lock(&mu);
  EXPECT_EQ(right, kCalls);
}

TEST_F(CallTest, EndsAtItsDeadline) {
  EXPECT_THAT(
      Register(ScriptedRequest("park"), {.timeout = absl::Milliseconds(50)}),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  service_.cancelled().Wait();
}

TEST_F(CallTest, ATimeoutThatHasPassedIsADeadline) {
  // One that is answered at once may come before gRPC looks at the time.
  EXPECT_THAT(Register(ScriptedRequest("park"), {.timeout = -absl::Seconds(1)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(CallTest, CancelEndsIt) {
  Notification ended;
  absl::Status status;
  const StartedCall call = StartCall(
      stub_->async(), &Async::Register, ScriptedRequest("park"),
      {.timeout = kLong}, [&](absl::StatusOr<v1::RegisterReply> reply) {
        status = reply.status();
        ended.Notify();
      });
  service_.parked().Wait();
  call.Cancel();
  ended.Wait();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  service_.cancelled().Wait();
  call.Cancel();  // Of a call that has ended: nothing.
}

TEST_F(CallTest, TheWatchdogEndsACallWhoseOwnTimerIsStuck) {
  // gRPC's timer counts an hour; the watchdog's clock is moved past it.
  FakeClock clock;
  CallWatchdog watchdog(&clock);
  Notification ended;
  absl::Status status;
  StartCall(stub_->async(), &Async::Register, ScriptedRequest("park"),
            {.timeout = kLong, .watchdog = &watchdog},
            [&](absl::StatusOr<v1::RegisterReply> reply) {
              status = reply.status();
              ended.Notify();
            });
  service_.parked().Wait();
  clock.Advance(kLong);
  EXPECT_EQ(watchdog.Check(), 0) << "gRPC comes first";
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(watchdog.Check(), 1);
  ended.Wait();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(CallTest, TheWatchdogForgetsCallsThatEnded) {
  FakeClock clock;
  CallWatchdog watchdog(&clock);
  EXPECT_THAT(Register(ScriptedRequest("echo"),
                       {.timeout = kLong, .watchdog = &watchdog}),
              IsOk());
  clock.Advance(kLong * 2);
  EXPECT_EQ(watchdog.Check(), 0);
}

TEST_F(CallTest, NobodyThereIsUnavailable) {
  const std::string address = server_->address();
  server_.reset();
  EXPECT_THAT(Register(ScriptedRequest("echo"), {.timeout = kLong}),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(CallTest, AChannelFindsAServerThatComesLater) {
  const std::string address = server_->address();
  server_.reset();
  ASSERT_THAT(Register(ScriptedRequest("echo"), {.timeout = kLong}),
              StatusIs(absl::StatusCode::kUnavailable));
  ScriptedClusterService service;
  auto server = RpcServer::Start(
      {.listen = address}, {{v1::Cluster::service_full_name(), &service}});
  ASSERT_THAT(server, IsOk());
  EXPECT_THAT(Register(ScriptedRequest("echo"),
                       {.timeout = kLong, .wait_for_ready = true}),
              IsOk());
}

TEST(ChannelCacheTest, OneChannelForEachAddressUntilForgotten) {
  ChannelCache cache({});
  const auto first = cache.Get("127.0.0.1:1");
  EXPECT_EQ(cache.Get("127.0.0.1:1"), first);
  EXPECT_NE(cache.Get("127.0.0.1:2"), first);
  cache.Forget("127.0.0.1:1");
  cache.Forget("127.0.0.1:1");
  EXPECT_NE(cache.Get("127.0.0.1:1"), first);
}

}  // namespace
}  // namespace seraph
