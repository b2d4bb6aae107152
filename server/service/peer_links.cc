#include "server/service/peer_links.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "common/log/log.h"
#include "common/rpc/backoff.h"
#include "common/rpc/byte_buffer.h"
#include "common/rpc/grpc_status.h"
#include "common/wire/message_writer.h"
#include "common/wire/shared_messages.h"
#include "grpcpp/generic/generic_stub.h"
#include "server/service/peer_codec.h"
#include "server/service/replica_batch.h"

namespace seraph {
namespace {

// A stream that lived so long had reached its peer.
constexpr absl::Duration kLived = absl::Seconds(1);

constexpr char kDeliver[] = "/seraph.v1.Replicas/Deliver";

}  // namespace

// The way to one incarnation. Its fields are the stream's, too.
class PeerLinks::Link {
 public:
  Link(const Node& to, const PeerLinksOptions& options)
      : peer(to),
        address(NearestAddress(to, options.here)),
        channel(MakeChannel(address, options.channel)),
        stub(channel),
        backoff(options.retry_backoff, options.retry_backoff_max,
                to.incarnation) {}

  // What fits into one write; at least one message if there is any.
  std::vector<MessageWriter> TakeBatch(size_t limit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    std::vector<MessageWriter> batch;
    size_t bytes = 0;
    while (!queue.empty() &&
           (batch.empty() || bytes + queue.front().size() <= limit)) {
      bytes += queue.front().size();
      batch.push_back(std::move(queue.front()));
      queue.pop_front();
    }
    queued_bytes -= bytes;
    return batch;
  }

  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    queue.clear();
    queued_bytes = 0;
  }

  const Node peer;
  const std::string address;  // Where it is dialled.
  const std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub stub;

  Mutex mu;
  std::deque<MessageWriter> queue ABSL_GUARDED_BY(mu);
  size_t queued_bytes ABSL_GUARDED_BY(mu) = 0;
  Stream* stream ABSL_GUARDED_BY(mu) = nullptr;
  bool stopped ABSL_GUARDED_BY(mu) = false;
  bool told ABSL_GUARDED_BY(mu) = false;  // That the peer is not reached.
  absl::Duration last_used ABSL_GUARDED_BY(mu);
  absl::Duration retry_at ABSL_GUARDED_BY(mu);
  Backoff backoff ABSL_GUARDED_BY(mu);
};

// One call. Deletes itself when gRPC is done with it.
//
// Whoever sets `busy` may start an operation, and nobody else; a hold keeps the
// call from ending until the one who sets `ended` gives it up.
class PeerLinks::Stream final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(PeerLinks* links, std::shared_ptr<Link> link)
      : links_(*links),
        link_(std::move(link)),
        started_(links_.clock_->Now()),
        context_(std::make_shared<grpc::ClientContext>()) {
    if (MayShareMemory(link_->address, links_.options_.here)) {
      shared_ = SharedMessageWriter(links_.options_.incarnation,
                                    link_->peer.incarnation);
      offer_ = shared_.Offer();
    }
  }

  // With `busy` set.
  void Begin() {
    ReconnectNow(link_->channel.get());
    link_->stub.PrepareBidiStreamingCall(context_.get(), kDeliver, {}, this);
    AddHold();
    // The peer's one reply, at the end, says nothing; but the end is told when
    // it was read.
    StartRead(&reply_);
    WriteNext();
    StartCall();
  }

  // With `busy` set: writes what waits, or gives `busy` back.
  void WriteNext() {
    std::vector<MessageWriter> taken;
    bool stopped;
    {
      MutexLock lock(&link_->mu);
      stopped = ended = link_->stopped;
      if (!stopped && large_.done() && !offer_.has_value()) {
        taken = link_->TakeBatch(links_.options_.batch_bytes);
        if (taken.empty()) {
          busy = false;
          return;
        }
      }
    }
    if (stopped) return End();
    Fill(std::move(taken));
    StartWrite(&batch_);
  }

  void OnWriteDone(bool ok) override {
    bool end;
    {
      MutexLock lock(&link_->mu);
      end = ended = !ok || link_->stopped;
      if (!end && std::exchange(link_->told, false)) {
        spdlog::info("peer.reached address={}", link_->peer.address);
      }
    }
    if (end) {
      End();
    } else {
      WriteNext();
    }
  }

  void OnDone(const grpc::Status& status) override {
    bool tell;
    {
      MutexLock lock(&link_->mu);
      tell = !link_->stopped;
      link_->stream = nullptr;
      link_->Clear();
      const absl::Duration now = links_.clock_->Now();
      if (now - started_ > kLived) link_->backoff.Reset();
      link_->retry_at = now + link_->backoff.Next();
      if (tell && !std::exchange(link_->told, true)) {
        spdlog::warn("peer.broken address={} status={} next=retry",
                     link_->peer.address, LogValue(FromGrpcStatus(status)));
      }
    }
    if (tell) links_.on_broken_(link_->peer.incarnation);
    PeerLinks& links = links_;
    delete this;
    MutexLock lock(&links.mu_);
    --links.streams_;
    links.changed_.NotifyAll();
  }

  std::shared_ptr<grpc::ClientContext> context() const { return context_; }

  // Of the link's lock.
  bool busy = true;
  bool ended = false;

 private:
  // With `ended` just set.
  void End() {
    context_->TryCancel();
    RemoveHold();
  }

  // With an offer, what was taken, or else the next piece of a large one.
  void Fill(std::vector<MessageWriter> taken) {
    if (offer_.has_value()) {
      batch_ = ToByteBuffer(*std::exchange(offer_, std::nullopt));
      return;
    }
    const size_t limit = links_.options_.batch_bytes;
    if (taken.size() == 1 && taken[0].size() > limit) {
      large_ = PiecesWriter(std::move(taken[0]));
    }
    // Pieces are kept by the peer until it has the last: not in shared memory.
    batch_ = large_.done()
                 ? ToByteBuffer(shared_.Wrap(WriteBatch(std::move(taken))))
                 : ToByteBuffer(large_.Next(limit));
  }

  PeerLinks& links_;
  const std::shared_ptr<Link> link_;
  const absl::Duration started_;
  const std::shared_ptr<grpc::ClientContext> context_;
  grpc::ByteBuffer reply_;
  // Of whoever set `busy`.
  grpc::ByteBuffer batch_;
  PiecesWriter large_;
  SharedMessageWriter shared_;
  std::optional<MessageWriter> offer_;
};

PeerLinks::PeerLinks(
    PeerLinksOptions options, const MonotonicClock* clock,
    absl::AnyInvocable<void(uint64_t incarnation) const> on_broken)
    : options_(std::move(options)),
      clock_(clock),
      on_broken_(std::move(on_broken)) {}

PeerLinks::~PeerLinks() { Stop(); }

void PeerLinks::Stop() {
  std::map<uint64_t, std::shared_ptr<Link>> links;
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    links.swap(links_);
  }
  for (const auto& [incarnation, link] : links) StopLink(link.get());
  MutexLock lock(&mu_);
  while (streams_ > 0) changed_.Wait(&mu_);
}

void PeerLinks::StopLink(Link* link) {
  Stream* stream = nullptr;
  std::shared_ptr<grpc::ClientContext> context;
  {
    MutexLock lock(&link->mu);
    link->stopped = true;
    link->Clear();
    if (link->stream == nullptr) return;
    context = link->stream->context();
    // One that is busy sees `stopped` when its write is done.
    if (!link->stream->busy && !link->stream->ended) {
      link->stream->ended = true;
      stream = link->stream;
    }
  }
  context->TryCancel();
  if (stream != nullptr) stream->RemoveHold();
}

void PeerLinks::Send(const Node& to, const JobName& job, PeerMessage message) {
  MessageWriter written = WritePeer(job, std::move(message));
  const size_t bytes = written.size();
  std::shared_ptr<Link> link;
  {
    MutexLock lock(&mu_);
    if (stopped_) return;
    std::shared_ptr<Link>& place = links_[to.incarnation];
    if (place == nullptr) place = std::make_shared<Link>(to, options_);
    link = place;
  }
  bool lost;
  {
    MutexLock lock(&link->mu);
    link->last_used = clock_->Now();
    lost = link->stopped ||
           (!link->queue.empty() &&
            link->queued_bytes + bytes > options_.queue_limit_bytes);
    if (lost) {
      link->Clear();
    } else {
      link->queue.push_back(std::move(written));
      link->queued_bytes += bytes;
    }
  }
  if (lost) {
    on_broken_(to.incarnation);
  } else {
    Pump(link);
  }
}

void PeerLinks::Pump(const std::shared_ptr<Link>& link) {
  Stream* begin = nullptr;
  Stream* write = nullptr;
  {
    MutexLock lock(&mu_);
    if (stopped_) return;
    MutexLock link_lock(&link->mu);
    if (link->stopped || link->queue.empty()) return;
    if (link->stream == nullptr) {
      if (clock_->Now() < link->retry_at) return;
      begin = link->stream = new Stream(this, link);
      ++streams_;
    } else if (!link->stream->busy && !link->stream->ended) {
      link->stream->busy = true;
      write = link->stream;
    }
  }
  if (begin != nullptr) begin->Begin();
  if (write != nullptr) write->WriteNext();
}

void PeerLinks::Tick() {
  std::vector<std::shared_ptr<Link>> links;
  {
    MutexLock lock(&mu_);
    for (const auto& [incarnation, link] : links_) links.push_back(link);
  }
  for (const std::shared_ptr<Link>& link : links) {
    bool idle;
    {
      MutexLock lock(&link->mu);
      idle = clock_->Now() - link->last_used > options_.idle;
    }
    if (!idle) {
      Pump(link);
      continue;
    }
    {
      MutexLock lock(&mu_);
      links_.erase(link->peer.incarnation);
    }
    StopLink(link.get());
  }
}

}  // namespace seraph
