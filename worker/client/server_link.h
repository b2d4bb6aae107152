// A worker process's end of the Exchange stream to one server.
#ifndef SERAPH_WORKER_CLIENT_SERVER_LINK_H_
#define SERAPH_WORKER_CLIENT_SERVER_LINK_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "common/wire/bulk_split.h"
#include "proto/parameters.pb.h"
#include "worker/client/rank_request.h"

namespace seraph {

// All ranks of the process share it. The stream is opened by the first request
// and, after it broke, by the next one; what was out then ends with
// Unavailable, and its sender sends it again. The stream itself has no
// deadline: keepalive pings find a peer that is gone or stands still.
//
// What leaves is ruled by a SendWindow. Requests that wait for the stream leave
// as one message. Keys and values are not copied on their way, and those of
// replies stay in gRPC's memory.
//
// Threads: every method may be called from any thread. Callbacks run on gRPC's
// threads, which they must not block, with no lock held.
class ServerLink {
 public:
  using Done =
      absl::AnyInvocable<void(absl::StatusOr<WithBulk<v1::ExchangeReply>>)>;

  // Shared memory with a server on this machine.
  struct SharedEnds {
    uint64_t ours = 0;  // Incarnations.
    uint64_t server = 0;
  };

  // `window_bytes`: of pushes that may be under way. `share`, unless nullopt:
  // large messages lie in memory that each stream shares with the server, where
  // that can open it.
  ServerLink(std::shared_ptr<grpc::Channel> channel, uint64_t window_bytes,
             std::optional<SharedEnds> share = std::nullopt);

  // Ends the stream; what is out, or waits to leave, ends with Unavailable
  // before this returns.
  ~ServerLink();

  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  enum class Leaves {
    kNow,
    kWithNext,  // A small one may wait for the next Send, or Flush.
  };

  // Sends a request under a number of the stream's own, when the window has
  // room for it. `done` is called exactly once. A request that still waits to
  // leave when it is given again leaves once, and its answer goes to all.
  //
  // kWithNext: whoever sends it sends more at once, and then calls Flush.
  void Send(std::shared_ptr<const RankRequest> request, Done done,
            Leaves leaves = Leaves::kNow);
  // Sends what waits for others.
  void Flush();

 private:
  class Stream;
  class Outbox;

  const std::shared_ptr<grpc::Channel> channel_;
  const std::shared_ptr<Outbox> outbox_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_SERVER_LINK_H_
