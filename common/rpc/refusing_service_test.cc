#include "common/rpc/refusing_service.h"

#include <memory>
#include <utility>

#include "common/rpc/call.h"
#include "common/rpc/channel.h"
#include "common/rpc/rpc_server.h"
#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "proto/cluster.grpc.pb.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using Async = v1::Cluster::StubInterface::async_interface;

TEST(RefusingServiceTest, EveryCallEndsWithTheError) {
  RefusingService service(absl::UnavailableError("not yet"));
  const auto server = RpcServer::Start({.other_methods = &service}, {});
  ASSERT_THAT(server, IsOk());
  const auto stub = v1::Cluster::NewStub(MakeChannel((*server)->address(), {}));
  EXPECT_THAT(Call(stub->async(), &Async::Register, {}, {}).status(),
              StatusIs(absl::StatusCode::kUnavailable, "not yet"));
  service.SetStatus(WithReason(absl::UnavailableError("another one"),
                               "NOT_LEADER", {{"leader", "there:1"}}));
  const absl::Status status =
      Call(stub->async(), &Async::Heartbeat, {}, {}).status();
  EXPECT_EQ(ReasonOf(status), "NOT_LEADER");
  EXPECT_EQ(ReasonValuesOf(status).at("leader"), "there:1");
  // A stream too.
  grpc::ClientContext context;
  v1::FinishEpochReply reply;
  const auto stream = stub->FinishEpoch(&context, &reply);
  v1::FinishEpochRequest request;
  while (stream->Write(request)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace seraph
