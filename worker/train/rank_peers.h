// Those whom a rank talks to.
#ifndef SERAPH_WORKER_TRAIN_RANK_PEERS_H_
#define SERAPH_WORKER_TRAIN_RANK_PEERS_H_

#include <functional>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/cluster/node.h"
#include "common/wire/bulk_split.h"
#include "proto/parameters.pb.h"
#include "worker/client/rank_request.h"
#include "worker/train/rank_machine.h"

namespace seraph {

// An interface, so that a rank runs against real daemons or in a test.
//
// Threads: every method may be called from any thread. Waiting calls return
// soon after Cancel.
class RankPeers {
 public:
  virtual ~RankPeers() = default;

  // Sends a message to a server; `done` is called exactly once, from any
  // thread.
  virtual void Send(
      const Node& server, std::shared_ptr<const RankRequest> request,
      absl::AnyInvocable<void(absl::StatusOr<WithBulk<v1::ExchangeReply>>)>
          done) = 0;

  // Begins the rank's attempt at a server. Waits, a lease time at most.
  virtual absl::StatusOr<v1::BeginAttemptReply> BeginAttempt(
      const Node& server) = 0;

  // Sends the share and waits for the decision: true to stop.
  virtual absl::StatusOr<bool> FinishEpoch(const EpochShare& share) = 0;

  // Tells the scheduler how the rank ended. Waits.
  virtual absl::Status ReportRank(const absl::Status& ended) = 0;

  // Ends a FinishEpoch or ReportRank that waits with Unavailable: whoever is
  // asked does not lead any more. Later ones go elsewhere.
  virtual void AskSchedulerAnew() = 0;

  // Ends waiting calls, now and later, with Cancelled.
  virtual void Cancel() = 0;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_RANK_PEERS_H_
