// A whole server but for the scheduler, on loopback, inside of a test.
#ifndef SERAPH_SERVER_SERVICE_TEST_SERVER_H_
#define SERAPH_SERVER_SERVICE_TEST_SERVER_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/concurrent/periodic_task.h"
#include "common/concurrent/thread_pool.h"
#include "common/rpc/call.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/rpc_server.h"
#include "gtest/gtest.h"
#include "server/service/checkpoint_files.h"
#include "server/service/function_calls.h"
#include "server/service/job_directory.h"
#include "server/service/open_streams.h"
#include "server/service/parameter_calls.h"
#include "server/service/parameter_service.h"
#include "server/service/peer_links.h"
#include "server/service/replica_calls.h"
#include "server/service/replica_service.h"

namespace seraph::testing {

struct TestServerOptions {
  uint64_t incarnation = 1;
  uint64_t memory_limit_bytes = uint64_t{64} << 20;
  uint64_t inflight_limit_bytes = 0;
  bool noop = false;
  // Listens on its incarnation's local socket too, and talks to others over
  // theirs, and with shared memory.
  bool local = false;
  // Must outlive the server.
  const FunctionRegistry* functions = &FunctionRegistry::BuiltIns();
};

// Destroying it is like killing it: its peers are told nothing.
class TestServer {
 public:
  explicit TestServer(const TestServerOptions& options)
      : local_(options.local),
        links_({.here = {.host = "test",
                         .unix_sockets = options.local,
                         .shared_memory = options.local},
                .incarnation = options.incarnation,
                .retry_backoff = absl::Milliseconds(5),
                .retry_backoff_max = absl::Milliseconds(50)},
               MonotonicClock::Real(),
               [this](uint64_t peer) { jobs_->OnLinkBroken(peer); }),
        pool_("partitions", 2),
        file_pool_(std::in_place, "files", 1) {
    jobs_.emplace(JobDirectoryParts{.executor = &pool_,
                                    .files = &*file_pool_,
                                    .clock = MonotonicClock::Real(),
                                    .peers = &links_},
                  JobDirectoryOptions{
                      .incarnation = options.incarnation,
                      .memory_limit_bytes = options.memory_limit_bytes,
                      .inflight_limit_bytes = options.inflight_limit_bytes,
                      .noop = options.noop});
    calls_.emplace(&*jobs_);
    functions_.emplace(&*jobs_, options.functions);
    orders_.emplace(&*jobs_, &terms_, &files_, &*file_pool_);
    parameters_service_.emplace(&*jobs_, &*calls_, &*functions_, &*orders_,
                                &streams_, &room_);
    replicas_service_.emplace(&*orders_, &streams_, &room_);
    auto rpc = RpcServer::Start(
        {.local_incarnation = options.local ? options.incarnation : 0},
        {{v1::Parameters::service_full_name(), &*parameters_service_},
         {v1::Replicas::service_full_name(), &*replicas_service_}});
    EXPECT_TRUE(rpc.ok()) << rpc.status();
    rpc_ = *std::move(rpc);
    const auto channel = MakeChannel(rpc_->address(), {});
    parameters_ = v1::Parameters::NewStub(channel);
    replicas_ = v1::Replicas::NewStub(channel);
    tick_.emplace("tick", absl::Milliseconds(5), [this] {
      links_.Tick();
      jobs_->Tick();
      calls_->Tick(MonotonicClock::Real()->Now());
    });
    tick_->Start();
  }

  ~TestServer() {
    streams_.EndAll();
    rpc_->Shutdown(absl::ZeroDuration());
    tick_.reset();
    links_.Stop();
    jobs_->Stop();
    file_pool_.reset();
    jobs_.reset();
  }

  Node node() const {
    return {.name = rpc_->address(),
            .address = rpc_->address(),
            .incarnation = jobs_->incarnation(),
            .host = local_ ? "test" : ""};
  }
  JobDirectory& jobs() { return *jobs_; }
  v1::Parameters::Stub& parameters() { return *parameters_; }
  v1::Replicas::Stub& replicas() { return *replicas_; }

  // One call of either service.
  template <typename Reply, typename Stub, typename Request>
  static absl::StatusOr<Reply>
  Do(Stub* stub,
     grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
     const Request& request, absl::Duration timeout = absl::Seconds(30)) {
    grpc::ClientContext context;
    SetDeadline(&context, timeout);
    Reply reply;
    const grpc::Status status = (stub->*method)(&context, request, &reply);
    if (!status.ok()) return FromGrpcStatus(status);
    return reply;
  }

 private:
  const bool local_;
  TermGuard terms_;
  SharedRoom room_{uint64_t{1} << 30};
  OpenStreams streams_;
  PeerLinks links_;
  ThreadPool pool_;
  CheckpointFiles files_;
  std::optional<ThreadPool> file_pool_;
  std::optional<JobDirectory> jobs_;
  std::optional<ParameterCalls> calls_;
  std::optional<FunctionCalls> functions_;
  std::optional<ReplicaCalls> orders_;
  std::optional<ParameterService> parameters_service_;
  std::optional<ReplicaService> replicas_service_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<v1::Parameters::Stub> parameters_;
  std::unique_ptr<v1::Replicas::Stub> replicas_;
  std::optional<PeriodicTask> tick_;
};

}  // namespace seraph::testing

#endif  // SERAPH_SERVER_SERVICE_TEST_SERVER_H_
