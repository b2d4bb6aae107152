// A Cluster service for tests that does what the caller's cluster name says.
#ifndef SERAPH_COMMON_RPC_SCRIPTED_CLUSTER_SERVICE_H_
#define SERAPH_COMMON_RPC_SCRIPTED_CLUSTER_SERVICE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/concurrent/notification.h"
#include "common/rpc/grpc_status.h"
#include "common/status/errors.h"
#include "proto/cluster.grpc.pb.h"

namespace seraph::testing {

// Register answers "echo" with the length of the node's name, fails "fail" with
// a reason, a value and a delay, and keeps "park" until somebody cancels it or
// lets it go.
class ScriptedClusterService final : public v1::Cluster::CallbackService {
 public:
  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1::RegisterRequest* request,
                                     v1::RegisterReply* reply) override {
    if (request->cluster() == "park") {
      auto* reactor = new Parked(this);
      reactor_ = reactor;
      parked_.Notify();
      return reactor;
    }
    absl::Status status;
    if (request->cluster() == "fail") {
      status = WithRetryAfter(WithReason(absl::ResourceExhaustedError("full"),
                                         "MEMORY_LIMIT", {{"limit", "7"}}),
                              absl::Milliseconds(20));
    }
    reply->set_heartbeat_interval_ms(request->node().name().size());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }

  // A call is parked; at most one in the life of the service.
  const Notification& parked() const { return parked_; }
  // The parked call was cancelled.
  const Notification& cancelled() const { return cancelled_; }
  // Ends the parked call well.
  void LetGo() { reactor_->Finish(grpc::Status::OK); }

 private:
  class Parked final : public grpc::ServerUnaryReactor {
   public:
    explicit Parked(ScriptedClusterService* service) : service_(*service) {}
    void OnCancel() override {
      service_.cancelled_.Notify();
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    ScriptedClusterService& service_;
  };

  Notification parked_;
  Notification cancelled_;
  Parked* reactor_ = nullptr;  // Set before parked_.
};

inline v1::RegisterRequest ScriptedRequest(const std::string& script,
                                           const std::string& name = "") {
  v1::RegisterRequest request;
  request.set_cluster(script);
  request.mutable_node()->set_name(name);
  return request;
}

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_RPC_SCRIPTED_CLUSTER_SERVICE_H_
