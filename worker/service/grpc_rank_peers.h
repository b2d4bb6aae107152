// A rank's peers over gRPC.
#ifndef SERAPH_WORKER_SERVICE_GRPC_RANK_PEERS_H_
#define SERAPH_WORKER_SERVICE_GRPC_RANK_PEERS_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/cluster/node.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/call.h"
#include "common/rpc/scheduler_channel.h"
#include "proto/cluster.grpc.pb.h"
#include "proto/parameters.grpc.pb.h"
#include "worker/client/rank_request.h"
#include "worker/client/server_link.h"
#include "worker/service/link_cache.h"
#include "worker/train/rank_peers.h"

namespace seraph {

struct GrpcRankPeersOptions {
  std::string job;
  uint64_t generation = 1;
  uint32_t rank = 0;
  uint32_t attempt = 1;
  uint64_t worker_incarnation = 0;
  absl::Duration call_timeout = absl::Seconds(10);  // To the scheduler.
  absl::Duration lease = absl::Seconds(5);          // To servers.
  // Of the wait for the decision at an epoch's end, after which the share is
  // sent again.
  absl::Duration decision_timeout = absl::Seconds(60);
};

class GrpcRankPeers final : public RankPeers {
 public:
  // Both must outlive this.
  GrpcRankPeers(GrpcRankPeersOptions options, LinkCache* links,
                SchedulerChannel* scheduler);

  void Send(
      const Node& server, std::shared_ptr<const RankRequest> request,
      absl::AnyInvocable<void(absl::StatusOr<WithBulk<v1::ExchangeReply>>)>
          done) override;
  absl::StatusOr<v1::BeginAttemptReply> BeginAttempt(
      const Node& server) override;
  absl::StatusOr<bool> FinishEpoch(const EpochShare& share) override;
  absl::Status ReportRank(const absl::Status& ended) override;
  void AskSchedulerAnew() override ABSL_LOCKS_EXCLUDED(mu_);
  void Cancel() override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Remembers the call that runs, so that Cancel can end it. False when
  // cancelled already.
  bool Enter(StartedCall call) ABSL_LOCKS_EXCLUDED(mu_);
  // A unary call that Cancel can end.
  template <typename Async, typename Request, typename Reply>
  absl::StatusOr<Reply> Call(
      std::type_identity_t<Async>* stub,
      void (Async::*method)(grpc::ClientContext*, const Request*, Reply*,
                            std::function<void(grpc::Status)>),
      Request request, absl::Duration timeout);
  absl::StatusOr<bool> FinishEpochAt(v1::Cluster::Stub* scheduler,
                                     const EpochShare& share);
  // Around a call to the scheduler; the second one says how it ended, and moves
  // on to another scheduler where that is needed.
  void BeginAsking() ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status EndAsking(const SchedulerChannel::Target& target,
                         absl::Status status) ABSL_LOCKS_EXCLUDED(mu_);
  // The link to the server, kept for the next time.
  std::shared_ptr<ServerLink> LinkTo(const Node& server)
      ABSL_LOCKS_EXCLUDED(mu_);

  const GrpcRankPeersOptions options_;
  LinkCache& links_;
  SchedulerChannel& scheduler_;

  Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  StartedCall running_ ABSL_GUARDED_BY(mu_);
  bool asking_ ABSL_GUARDED_BY(mu_) = false;  // The scheduler.
  bool ask_anew_ ABSL_GUARDED_BY(mu_) = false;
  struct KnownLink {
    uint64_t incarnation = 0;
    std::shared_ptr<ServerLink> link;
  };
  std::map<std::string, KnownLink> known_ ABSL_GUARDED_BY(mu_);  // By address.
};

}  // namespace seraph

#endif  // SERAPH_WORKER_SERVICE_GRPC_RANK_PEERS_H_
