// Functions are called over gRPC.
#ifndef SERAPH_WORKER_CLIENT_GRPC_FUNCTION_PEERS_H_
#define SERAPH_WORKER_CLIENT_GRPC_FUNCTION_PEERS_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/call.h"
#include "common/rpc/channel.h"
#include "worker/client/function_peers.h"

namespace seraph {

// Threads: one at a time, and Cancel from any.
class GrpcFunctionPeers final : public FunctionPeers {
 public:
  using Find = absl::AnyInvocable<absl::StatusOr<FunctionTables>()>;
  using Wait = absl::AnyInvocable<absl::Status(absl::Duration)>;

  // `find` and `pause` are FindTables and Pause.
  GrpcFunctionPeers(const ChannelOptions& channel, Find find, Wait pause)
      : channels_(channel), find_(std::move(find)), pause_(std::move(pause)) {}

  absl::StatusOr<FunctionTables> FindTables() override { return find_(); }
  std::vector<absl::StatusOr<v1::CallReply>> CallAll(
      std::vector<ServerCall> calls, absl::Duration timeout) override
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Pause(absl::Duration time) override { return pause_(time); }
  absl::Duration Now() const override;

  // Ends the calls that are out with Cancelled.
  void Cancel() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  ChannelCache channels_;
  Find find_;
  Wait pause_;

  Mutex mu_;
  std::vector<StartedCall> out_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_GRPC_FUNCTION_PEERS_H_
