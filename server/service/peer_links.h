// Streams to the other servers that this one's replicas talk to.
#ifndef SERAPH_SERVER_SERVICE_PEER_LINKS_H_
#define SERAPH_SERVER_SERVICE_PEER_LINKS_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/cluster/nearest_address.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/channel.h"
#include "common/time/clock.h"
#include "server/service/peer_sender.h"

namespace seraph {

struct PeerLinksOptions {
  ChannelOptions channel;
  Neighbourhood here;
  uint64_t incarnation = 0;  // Ours.
  // Messages that wait for one peer. Beyond it all of them are lost, which is
  // told as a broken link.
  uint64_t queue_limit_bytes = uint64_t{256} << 20;
  // Of one write; a larger message goes in pieces of this size.
  uint64_t batch_bytes = uint64_t{4} << 20;
  // Pauses between attempts to reach a peer: jittered, doubling.
  absl::Duration retry_backoff = absl::Milliseconds(20);
  absl::Duration retry_backoff_max = absl::Seconds(2);
  // A peer that nobody has talked to for so long is forgotten.
  absl::Duration idle = absl::Minutes(1);
};

// One stream (Replicas.Deliver) to each incarnation of a server that messages
// go to, made when the first one is sent. What waits while a write is under way
// goes with the next one. A stream that breaks takes with it what was not
// delivered, is told, and is made anew after a pause; what is sent in that
// pause waits for it.
//
// Threads: every method may be called from any thread.
class PeerLinks final : public PeerSender {
 public:
  // `on_broken` gets the peer's incarnation, without a lock held; it may be
  // called from several threads at once, also from Send. `clock` must outlive
  // this.
  PeerLinks(PeerLinksOptions options, const MonotonicClock* clock,
            absl::AnyInvocable<void(uint64_t incarnation) const> on_broken);

  ~PeerLinks() override;  // As Stop.

  // Cuts the streams off; nothing is told any more when it returns, and what is
  // sent later is lost. Not from a thread of gRPC's. May be repeated.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  void Send(const Node& to, const JobName& job, PeerMessage message) override
      ABSL_LOCKS_EXCLUDED(mu_);

  // Tries again where a pause is over, and forgets idle peers. To be called
  // every few milliseconds.
  void Tick() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  class Link;
  class Stream;

  // Starts a stream, or a write, where one is due.
  void Pump(const std::shared_ptr<Link>& link) ABSL_LOCKS_EXCLUDED(mu_);
  static void StopLink(Link* link);

  const PeerLinksOptions options_;
  const MonotonicClock* const clock_;
  const absl::AnyInvocable<void(uint64_t incarnation) const> on_broken_;

  Mutex mu_;  // Before the lock of a link.
  CondVar changed_;
  int streams_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, std::shared_ptr<Link>> links_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_PEER_LINKS_H_
