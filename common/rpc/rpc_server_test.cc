#include "common/rpc/rpc_server.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/call.h"
#include "common/rpc/channel.h"
#include "common/rpc/scripted_cluster_service.h"
#include "common/rpc/unique_fd.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "proto/health.grpc.pb.h"

// c-ares forgets ten bytes of each look-up of "localhost".
extern "C" const char* __lsan_default_suppressions() { return "leak:libcares"; }

namespace seraph {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::ScriptedClusterService;
using ::seraph::testing::ScriptedRequest;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Hours(1);

std::unique_ptr<RpcServer> StartServer(const RpcServerOptions& options,
                                       ScriptedClusterService* service) {
  auto server =
      RpcServer::Start(options, {{v1::Cluster::service_full_name(), service}});
  EXPECT_THAT(server, IsOk());
  return server.ok() ? *std::move(server) : nullptr;
}

absl::StatusOr<int> CheckHealth(std::shared_ptr<grpc::Channel> channel,
                                const std::string& name) {
  auto stub = Health::NewStub(channel);
  HealthCheckRequest request;
  request.set_service(name);
  auto reply =
      Call(stub->async(), &Health::StubInterface::async_interface::Check,
           request, {.timeout = kLong, .wait_for_ready = true});
  if (!reply.ok()) return reply.status();
  return reply->status();
}

absl::StatusOr<v1::RegisterReply> Register(
    std::shared_ptr<grpc::Channel> channel, v1::RegisterRequest request) {
  auto stub = v1::Cluster::NewStub(channel);
  return Call(stub->async(),
              &v1::Cluster::StubInterface::async_interface::Register, request,
              {.timeout = kLong, .wait_for_ready = true});
}

class RpcServerOn : public ::testing::TestWithParam<std::string> {};

TEST_P(RpcServerOn, ServesItsServices) {
  const TempFolder folder;
  ScriptedClusterService service;
  const std::string listen = absl::StartsWith(GetParam(), "unix:")
                                 ? "unix:" + folder.Path("s")
                                 : GetParam();
  auto server = StartServer({.listen = listen}, &service);
  ASSERT_NE(server, nullptr);
  EXPECT_THAT(
      Register(MakeChannel(server->address(), {}), ScriptedRequest("echo")),
      IsOk());
  EXPECT_EQ(server->refused_connections(), 0);
}

INSTANTIATE_TEST_SUITE_P(Addresses, RpcServerOn,
                         ::testing::Values("127.0.0.1:0", "localhost:0",
                                           "0.0.0.0:0", "unix:"),
                         [](const auto& info) {
                           return absl::StrCat("Address", info.index);
                         });

TEST(RpcServerTest, MessagesUpToTheLimitPassAndLargerOnesAreRefused) {
  constexpr uint64_t kLimit = 16 << 20;
  ScriptedClusterService service;
  auto server = StartServer({.max_message_bytes = kLimit}, &service);
  ASSERT_NE(server, nullptr);
  for (const auto& channel :
       {MakeChannel(server->address(), {.max_message_bytes = 2 * kLimit}),
        server->InProcessChannel()}) {
    const auto reply = Register(
        channel, ScriptedRequest("echo", std::string(kLimit - 100, 'x')));
    ASSERT_THAT(reply, IsOk());
    EXPECT_EQ(reply->heartbeat_interval_ms(), kLimit - 100);
    EXPECT_THAT(
        Register(channel, ScriptedRequest("echo", std::string(kLimit, 'x'))),
        StatusIs(absl::StatusCode::kResourceExhausted));
  }
}

TEST(RpcServerTest, HealthKnowsTheProcessReadinessAndEachService) {
  ScriptedClusterService service;
  auto server = StartServer({}, &service);
  ASSERT_NE(server, nullptr);
  auto channel = server->InProcessChannel();
  EXPECT_THAT(CheckHealth(channel, ""),
              IsOkAndHolds(HealthCheckResponse::SERVING));
  EXPECT_THAT(CheckHealth(channel, "liveness"),
              IsOkAndHolds(HealthCheckResponse::SERVING));
  for (bool ready : {false, true, false}) {
    if (ready) server->SetReady(true);
    const int want =
        ready ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
    EXPECT_THAT(CheckHealth(channel, "readiness"), IsOkAndHolds(want));
    EXPECT_THAT(CheckHealth(channel, "seraph.v1.Cluster"), IsOkAndHolds(want));
    if (ready) server->SetReady(false);
  }
  server->SetServing("readiness", true);
  EXPECT_THAT(CheckHealth(channel, "readiness"),
              IsOkAndHolds(HealthCheckResponse::SERVING));
  EXPECT_THAT(CheckHealth(channel, "seraph.v1.Nothing"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(RpcServerTest, AWatcherOfAnUnknownServiceSeesItAppear) {
  ScriptedClusterService service;
  auto server = StartServer({}, &service);
  ASSERT_NE(server, nullptr);
  auto stub = Health::NewStub(server->InProcessChannel());
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service("late");
  auto watch = stub->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  server->SetServing("other", true);  // None of its business.
  server->SetServing("late", true);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  context.TryCancel();
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

// Sends one message of the reflection protocol and returns the answer, both
// serialised.
std::string Reflect(std::shared_ptr<grpc::Channel> channel,
                    const std::string& message) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::Slice slice(message);
  grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  Notification ended;
  stub.UnaryCall(
      &context,
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {},
      &request, &reply, [&](grpc::Status status) {
        EXPECT_TRUE(status.ok()) << status.error_message();
        ended.Notify();
      });
  ended.Wait();
  std::vector<grpc::Slice> slices;
  reply.Dump(&slices);
  std::string result;
  for (const grpc::Slice& part : slices) {
    result.append(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  return result;
}

TEST(RpcServerTest, ReflectionListsAndDescribesServices) {
  ScriptedClusterService service;
  auto server = StartServer({}, &service);
  ASSERT_NE(server, nullptr);
  auto channel = server->InProcessChannel();
  // list_services = 7, an empty string.
  EXPECT_THAT(Reflect(channel, std::string("\x3a\0", 2)),
              AllOf(HasSubstr("seraph.v1.Cluster"),
                    HasSubstr("grpc.health.v1.Health")));
  for (const std::string symbol :
       {"seraph.v1.Cluster", "grpc.health.v1.Health"}) {
    // file_containing_symbol = 4; the answer holds the file with its messages.
    EXPECT_THAT(
        Reflect(channel,
                absl::StrCat("\x22", std::string(1, symbol.size()), symbol)),
        HasSubstr(symbol == "seraph.v1.Cluster" ? "RegisterRequest"
                                                : "HealthCheckRequest"));
  }
}

TEST(RpcServerTest, ATakenPortIsAnErrorThatNamesItsKey) {
  ScriptedClusterService service;
  auto server = StartServer({}, &service);
  ASSERT_NE(server, nullptr);
  EXPECT_THAT(
      RpcServer::Start(
          {.listen = server->address(), .config_key = "server.listen"}, {}),
      StatusIs(
          absl::StatusCode::kAlreadyExists,
          AllOf(HasSubstr(server->address()), HasSubstr("server.listen"))));
}

TEST(RpcServerTest, ShutdownWaitsForCallsThatEnd) {
  ScriptedClusterService service;
  auto server = StartServer({}, &service);
  ASSERT_NE(server, nullptr);
  auto channel = MakeChannel(server->address(), {});
  absl::StatusOr<v1::RegisterReply> reply;
  std::thread caller(
      [&] { reply = Register(channel, ScriptedRequest("park")); });
  service.parked().Wait();
  std::thread stopper([&] { server->Shutdown(kLong); });
  service.LetGo();
  stopper.join();
  caller.join();
  EXPECT_THAT(reply, IsOk());
  EXPECT_FALSE(service.cancelled().HasBeenNotified());
  server->Shutdown(kLong);
}

TEST(RpcServerTest, ShutdownCancelsWhatIsLeftAfterTheGrace) {
  ScriptedClusterService service;
  auto server = StartServer({}, &service);
  ASSERT_NE(server, nullptr);
  auto channel = MakeChannel(server->address(), {});
  absl::StatusOr<v1::RegisterReply> reply;
  std::thread caller(
      [&] { reply = Register(channel, ScriptedRequest("park")); });
  service.parked().Wait();
  server->Shutdown(absl::Milliseconds(20));
  EXPECT_TRUE(service.cancelled().HasBeenNotified());
  caller.join();
  EXPECT_FALSE(reply.ok());
}

TEST(RpcServerTest, AHealthWatcherDoesNotHoldUpShutdown) {
  ScriptedClusterService service;
  auto server = StartServer({}, &service);
  ASSERT_NE(server, nullptr);
  auto stub = Health::NewStub(MakeChannel(server->address(), {}));
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service("readiness");
  auto watch = stub->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  server->SetReady(true);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  server->Shutdown(kLong);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

constexpr int kAttackers = 200;

// Opens so many connections to the unix socket `path` in a process of its own,
// which may have `limit` descriptors, and never says a word on them. Tells on
// *done how many the server closed, once all are closed, and keeps its ends
// open until it is killed.

pid_t StartAttacker(const std::string& path, const rlimit& limit,
                    UniqueFd* done) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const pid_t pid = fork();
  if (pid != 0) {
    close(ends[1]);
    done->Reset(ends[0]);
    return pid;
  }
  // Nothing but system calls in the child of a process with threads.
  setrlimit(RLIMIT_NOFILE, &limit);
  const int report = 3;
  dup2(ends[1], report);
  syscall(SYS_close_range, report + 1, ~0U, 0);
  pollfd peers[kAttackers];
  for (pollfd& peer : peers) {
    peer = {socket(AF_UNIX, SOCK_STREAM, 0), 0, 0};
    connect(peer.fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  uint8_t closed = 0;
  for (pollfd& peer : peers) {
    // The other end's close, which comes unasked for, is POLLHUP.
    if (poll(&peer, 1, -1) == 1 && (peer.revents & POLLHUP) != 0) ++closed;
  }
  if (write(report, &closed, 1) != 1) _exit(1);
  while (true) pause();  // The sockets stay open at this end.
}

TEST(RpcServerTest, ASiegeOfConnectionsEndsAndTheServerServesAgain) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit lowered = limit;
  lowered.rlim_cur = 128;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lowered), 0);

  ScriptedClusterService service;
  const TempFolder folder;
  const std::string path = folder.Path("s");
  auto server = StartServer(
      {.listen = "unix:" + path, .handshake_timeout = absl::Milliseconds(500)},
      &service);
  ASSERT_NE(server, nullptr);
  auto before = MakeChannel(server->address(), {});
  ASSERT_THAT(Register(before, ScriptedRequest("echo")), IsOk());

  UniqueFd done;
  const pid_t attacker = StartAttacker(path, limit, &done);
  uint8_t closed = 0;
  ASSERT_EQ(read(done.get(), &closed, 1), 1);
  EXPECT_EQ(closed, kAttackers);
  // Some were beyond the budget; the others were silent for too long.
  EXPECT_GT(server->refused_connections(), 0);
  EXPECT_LT(server->refused_connections(), kAttackers);

  EXPECT_THAT(Register(before, ScriptedRequest("echo")), IsOk());
  auto after = MakeChannel(server->address(), {});
  EXPECT_THAT(Register(after, ScriptedRequest("echo")), IsOk());

  kill(attacker, SIGKILL);
  EXPECT_EQ(waitpid(attacker, nullptr, 0), attacker);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

}  // namespace
}  // namespace seraph
