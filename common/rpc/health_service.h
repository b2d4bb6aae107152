// The standard health service of gRPC.
//
// gRPC's own would do, but for one thing: whoever watches it holds up the
// server's shutdown until the grace is over. This one says goodbye.
#ifndef SERAPH_COMMON_RPC_HEALTH_SERVICE_H_
#define SERAPH_COMMON_RPC_HEALTH_SERVICE_H_

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/concurrent/mutex.h"
#include "proto/health.grpc.pb.h"

namespace seraph {

// Threads: every method may be called from any thread.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;

  HealthService() = default;
  // No call may be under way: destroy the server first.
  ~HealthService() override = default;

  // Makes `name` known, or changes its status and tells who watches it. After
  // Shutdown it changes nothing.
  void SetServing(const std::string& name, bool serving)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Nothing serves any more; ends every Watch, those that come later too.
  void Shutdown() ABSL_LOCKS_EXCLUDED(mu_);

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const Request* request,
                                  Response* response) override;
  grpc::ServerWriteReactor<Response>* Watch(
      grpc::CallbackServerContext* context, const Request* request) override;

 private:
  class Watcher;

  using Watchers = std::set<std::shared_ptr<Watcher>>;

  Response::ServingStatus StatusOf(const std::string& name,
                                   bool* shut_down) const
      ABSL_LOCKS_EXCLUDED(mu_);
  void Forget(const std::shared_ptr<Watcher>& watcher) ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  std::map<std::string, bool> serving_ ABSL_GUARDED_BY(mu_);
  Watchers watchers_ ABSL_GUARDED_BY(mu_);
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_HEALTH_SERVICE_H_
