#include "worker/client/grpc_function_peers.h"

#include <memory>
#include <utility>

#include "common/concurrent/notification.h"
#include "common/time/clock.h"
#include "proto/parameters.grpc.pb.h"

namespace seraph {

using ParametersCalls = v1::Parameters::StubInterface::async_interface;

std::vector<absl::StatusOr<v1::CallReply>> GrpcFunctionPeers::CallAll(
    std::vector<ServerCall> calls, absl::Duration timeout) {
  std::vector<absl::StatusOr<v1::CallReply>> replies(calls.size());
  std::vector<std::unique_ptr<v1::Parameters::Stub>> stubs;
  std::vector<Notification> ended(calls.size());
  std::vector<StartedCall> started;
  for (size_t i = 0; i < calls.size(); ++i) {
    stubs.push_back(
        v1::Parameters::NewStub(channels_.Get(calls[i].server.address)));
    started.push_back(StartCall(
        stubs[i]->async(), &ParametersCalls::Call, std::move(calls[i].request),
        {.timeout = timeout}, [&, i](absl::StatusOr<v1::CallReply> reply) {
          replies[i] = std::move(reply);
          ended[i].Notify();
        }));
  }
  {
    MutexLock lock(&mu_);
    out_ = std::move(started);
  }
  for (Notification& one : ended) one.Wait();
  MutexLock lock(&mu_);
  out_.clear();
  return replies;
}

void GrpcFunctionPeers::Cancel() {
  std::vector<StartedCall> out;
  {
    MutexLock lock(&mu_);
    out = out_;
  }
  for (const StartedCall& call : out) call.Cancel();
}

absl::Duration GrpcFunctionPeers::Now() const {
  return MonotonicClock::Real()->Now();
}

}  // namespace seraph
