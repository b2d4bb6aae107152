// A unary call whose answer may come late, or never.
#ifndef SERAPH_COMMON_RPC_UNARY_CALL_H_
#define SERAPH_COMMON_RPC_UNARY_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/grpc_status.h"

namespace seraph {

// Finishes with the first of: the answer, or the client's giving up (its
// deadline, a cancellation, a broken connection). Without the second a pull
// that waits would keep the call after its client has gone.
//
// Deletes itself when gRPC is done with it.
template <typename Reply>
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  // `reply` is gRPC's.
  explicit UnaryCall(Reply* reply) : shared_(std::make_shared<Shared>()) {
    MutexLock lock(&shared_->mu);
    shared_->call = this;
    shared_->reply = reply;
  }

  // A callback for the answer, which may be called once, from any thread, also
  // after the call has ended.
  auto Answer() {
    return [shared = shared_](absl::StatusOr<Reply> answer) {
      MutexLock lock(&shared->mu);
      if (shared->call == nullptr) return;
      if (answer.ok()) *shared->reply = *std::move(answer);
      std::exchange(shared->call, nullptr)
          ->Finish(ToGrpcStatus(answer.status()));
    };
  }

  void OnCancel() override {
    MutexLock lock(&shared_->mu);
    if (shared_->call == nullptr) return;
    std::exchange(shared_->call, nullptr)->Finish(grpc::Status::CANCELLED);
  }

  void OnDone() override { delete this; }

 private:
  struct Shared {
    Mutex mu;
    UnaryCall* call ABSL_GUARDED_BY(mu) = nullptr;  // Null once finished.
    Reply* reply ABSL_GUARDED_BY(mu) = nullptr;
  };

  const std::shared_ptr<Shared> shared_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_UNARY_CALL_H_
