// A server that has nothing to offer, and says why.
#ifndef SERAPH_COMMON_RPC_REFUSING_SERVICE_H_
#define SERAPH_COMMON_RPC_REFUSING_SERVICE_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/grpc_status.h"

namespace seraph {

// Answers every call, of whatever method, with one error.
//
// Threads: every method may be called from any thread.
class RefusingService final : public grpc::CallbackGenericService {
 public:
  // `status` is an error.
  explicit RefusingService(absl::Status status) : status_(std::move(status)) {}

  void SetStatus(absl::Status status) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    status_ = std::move(status);
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override
      ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return new Refusal(status_);
  }

 private:
  class Refusal final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Refusal(const absl::Status& status) {
      Finish(ToGrpcStatus(status));
    }
    void OnDone() override { delete this; }
  };

  Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_REFUSING_SERVICE_H_
