// The Cluster service: decodes, calls the core, encodes.
#ifndef SERAPH_SCHEDULER_SERVICE_CLUSTER_SERVICE_H_
#define SERAPH_SCHEDULER_SERVICE_CLUSTER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/cluster.grpc.pb.h"
#include "scheduler/service/epoch_waiters.h"
#include "scheduler/service/scheduler_engine.h"

namespace seraph {

struct ClusterServiceOptions {
  std::string cluster = "seraph";  // Its name.
  uint64_t incarnation = 1;        // Of this scheduler.
  uint64_t term = 1;               // Of its state.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  absl::Duration heartbeat_timeout = absl::Seconds(5);
  std::string spool_folder;  // For scores; exists.
};

// proto/cluster.proto documents every method.
//
// Threads: gRPC's.
class ClusterService final : public v1::Cluster::CallbackService {
 public:
  // `engine` and `waiters` must outlive the server that this is registered
  // with.
  ClusterService(const ClusterServiceOptions& options, SchedulerEngine* engine,
                 EpochWaiters* waiters)
      : options_(options), engine_(*engine), waiters_(*waiters) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1::RegisterRequest* request,
                                     v1::RegisterReply* reply) override;
  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context,
                                      const v1::HeartbeatRequest* request,
                                      v1::HeartbeatReply* reply) override;
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext* context,
                                  const v1::LeaveRequest* request,
                                  v1::LeaveReply* reply) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request,
                                  v1::DrainReply* reply) override;
  grpc::ServerUnaryReactor* ReportRank(grpc::CallbackServerContext* context,
                                       const v1::ReportRankRequest* request,
                                       v1::ReportRankReply* reply) override;
  grpc::ServerReadReactor<v1::FinishEpochRequest>* FinishEpoch(
      grpc::CallbackServerContext* context,
      v1::FinishEpochReply* reply) override;
  grpc::ServerUnaryReactor* DescribeCluster(
      grpc::CallbackServerContext* context,
      const v1::DescribeClusterRequest* request,
      v1::DescribeClusterReply* reply) override;

 private:
  // Finishes with what the engine answers.
  grpc::ServerUnaryReactor* HandleLater(grpc::CallbackServerContext* context,
                                        const Event& event);
  // What the node tells, or why it is refused.
  absl::StatusOr<NodeRegistered> CheckRegistration(
      const v1::RegisterRequest& request);

  const ClusterServiceOptions options_;
  SchedulerEngine& engine_;
  EpochWaiters& waiters_;
  std::atomic<uint64_t> spool_files_{0};
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_CLUSTER_SERVICE_H_
