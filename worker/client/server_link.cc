#include "worker/client/server_link.h"

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/notification.h"
#include "common/rpc/byte_buffer.h"
#include "common/rpc/grpc_status.h"
#include "common/testing/fail_point.h"
#include "common/wire/exchange_bulk.h"
#include "common/wire/shared_messages.h"
#include "grpcpp/generic/generic_stub.h"
#include "worker/client/request_wire.h"
#include "worker/client/send_window.h"

namespace seraph {

namespace {

constexpr char kExchange[] = "/seraph.v1.Parameters/Exchange";
// Requests go together up to about so many bytes.
constexpr size_t kBatchBytes = 256 << 10;
// What waits for others to leave with them: so many requests, none of which is
// larger. The server is to have something to do meanwhile.
constexpr size_t kHeldRequests = 16;
constexpr size_t kHeldBytes = 16 << 10;

size_t BytesOf(const RankRequest& request) {
  return 256 + BulkBytes(request);  // About, of all but bulk.
}

}  // namespace

// One stream from its opening to its end. gRPC holds a reference to itself
// from Start to OnDone.
class ServerLink::Stream final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Opens it. `self` keeps the stream until it has ended.
  static std::shared_ptr<Stream> Open(grpc::GenericStub* stub,
                                      const std::optional<SharedEnds>& share) {
    auto stream = std::make_shared<Stream>();
    stream->self_ = stream;
    stub->PrepareBidiStreamingCall(&stream->context_, kExchange, {},
                                   stream.get());
    if (share.has_value()) stream->OfferMemory(*share);
    stream->StartRead(&stream->reply_);
    // Writes are started from outside of reactions.
    stream->AddHold();
    stream->StartCall();
    return stream;
  }

  // False if the stream has broken: nothing was done with `done` then.
  bool Send(const std::shared_ptr<const RankRequest>& request, Leaves leaves,
            Done* done) {
    const bool may_wait =
        leaves == Leaves::kWithNext && BytesOf(*request) <= kHeldBytes;
    std::vector<Leaving> batch;
    {
      MutexLock lock(&mu_);
      if (broken_) return false;
      const uint64_t number = ++last_number_;
      waiting_.emplace(number, std::move(*done));
      outbox_.push_back({request, number});
      if (may_wait && outbox_.size() < kHeldRequests) return true;
      if (std::exchange(writing_, true)) return true;
      batch = TakeBatch();
    }
    Write(batch);
    return true;
  }

  void Flush() {
    std::vector<Leaving> batch;
    {
      MutexLock lock(&mu_);
      if (broken_ || outbox_.empty() || std::exchange(writing_, true)) return;
      batch = TakeBatch();
    }
    Write(batch);
  }

  void OnWriteDone(bool ok) override {
    std::vector<Leaving> batch;
    {
      MutexLock lock(&mu_);
      if (!ok || broken_) return BreakLocked();
      writing_ = !outbox_.empty();
      if (!writing_) return;
      batch = TakeBatch();
    }
    Write(batch);
  }

  void OnReadDone(bool ok) override {
    std::vector<WithBulk<v1::ExchangeReply>> replies;
    if (!ok || !Parse(&replies)) {
      MutexLock lock(&mu_);
      return BreakLocked();
    }
    for (WithBulk<v1::ExchangeReply>& reply : replies) {
      Done done;
      {
        MutexLock lock(&mu_);
        auto node = waiting_.extract(reply.head.number());
        if (!node.empty()) done = std::move(node.mapped());
      }
      if (done) done(std::move(reply));
    }
    StartRead(&reply_);
  }

  void OnDone(const grpc::Status& status) override {
    std::vector<Done> unanswered;
    {
      MutexLock lock(&mu_);
      BreakLocked();
      for (auto& [number, done] : waiting_) {
        unanswered.push_back(std::move(done));
      }
      waiting_.clear();
    }
    const absl::Status why =
        status.ok() ? absl::UnavailableError("the server ended the stream")
                    : absl::UnavailableError(FromGrpcStatus(status).message());
    for (Done& done : unanswered) done(why);
    // They hold the channel, which must not go on this thread.
    unanswered.clear();
    ended_.Notify();
    self_.reset();  // The last thing that is done here.
  }

  void Cancel() { context_.TryCancel(); }
  void WaitForEnd() { ended_.Wait(); }

 private:
  struct Leaving {
    std::shared_ptr<const RankRequest> request;
    uint64_t number = 0;
  };

  // The stream's first write.
  void OfferMemory(const SharedEnds& share) ABSL_LOCKS_EXCLUDED(mu_) {
    requests_ = SharedMessageWriter(share.ours, share.server);
    replies_ = SharedMessageReader(share.ours, share.server);
    std::optional<MessageWriter> offer = requests_.Offer(&replies_);
    if (!offer.has_value()) return;
    MutexLock lock(&mu_);
    writing_ = true;
    request_ = ToByteBuffer(*std::move(offer));
    StartWrite(&request_);
  }

  // What goes together, with `writing_` just set.
  std::vector<Leaving> TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<Leaving> batch;
    size_t bytes = 0;
    while (!outbox_.empty()) {
      const size_t more = BytesOf(*outbox_.front().request);
      if (!batch.empty() && bytes + more > kBatchBytes) break;
      bytes += more;
      batch.push_back(std::move(outbox_.front()));
      outbox_.pop_front();
    }
    return batch;
  }

  // Always as a batch, so that the server answers in batches.
  void Write(const std::vector<Leaving>& batch) ABSL_LOCKS_EXCLUDED(mu_) {
    MessageWriter message;
    for (const Leaving& one : batch) {
      message.Message(v1::ExchangeRequest::kBatchFieldNumber,
                      WriteRequest(one.request, one.number));
    }
    grpc::ByteBuffer buffer = ToByteBuffer(requests_.Wrap(std::move(message)));
    MutexLock lock(&mu_);
    if (broken_) return;  // The call may have ended.
    request_.Swap(&buffer);
    StartWrite(&request_);
  }

  // What was read; false for what is no message.
  bool Parse(std::vector<WithBulk<v1::ExchangeReply>>* replies) {
    auto received = ToSlices(reply_);
    reply_.Clear();
    if (!received.ok()) return false;
    const auto bytes = replies_.Unwrap(*std::move(received));
    if (!bytes.ok()) return false;
    if (!bytes->has_value()) return true;
    bool is_batch = false;
    auto parsed = ParseBatch<v1::ExchangeReply>(
        **bytes, kExchangeReplyBatchBulk, kExchangeReplyBulk, &is_batch);
    if (!parsed.ok()) return false;
    *replies = *std::move(parsed);
    return true;
  }

  // No further writes; the stream ends when nothing is under way.
  void BreakLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!std::exchange(broken_, true)) {
      context_.TryCancel();
      RemoveHold();
    }
  }

  grpc::ClientContext context_;
  grpc::ByteBuffer reply_;  // Of the read under way.
  SharedMessageReader replies_{nullptr};
  // Of the write under way; of whoever has set `writing_`.
  grpc::ByteBuffer request_;
  SharedMessageWriter requests_;
  Notification ended_;
  std::shared_ptr<Stream> self_;

  Mutex mu_;
  bool broken_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Leaving> outbox_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, Done> waiting_ ABSL_GUARDED_BY(mu_);
};

// What leaves when. Answers hold it: they may be on their way when the link
// has gone.
class ServerLink::Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  Outbox(std::shared_ptr<grpc::Channel> channel, uint64_t window_bytes,
         std::optional<SharedEnds> share)
      : stub_(std::move(channel)), share_(share), window_(window_bytes) {}

  void Send(std::shared_ptr<const RankRequest> request, Done done,
            Leaves leaves) {
    SendWindow::Request described = Describe(*request);
    std::vector<uint64_t> leaving;
    {
      MutexLock lock(&mu_);
      if (const auto same = waiting_by_request_.find(request.get());
          same != waiting_by_request_.end()) {
        waiting_.at(same->second).done.push_back(std::move(done));
        return;
      }
      described.id = ++last_id_;
      window_.Add(described, &leaving);
      if (leaving.empty()) {
        waiting_by_request_[request.get()] = described.id;
        Waiting& waiting = waiting_[described.id];
        waiting.request = std::move(request);
        waiting.done.push_back(std::move(done));
        return;
      }
    }
    // It has let this one go, and no other.
    Leave(described.id, request, std::move(done), leaves);
  }

  void Flush() {
    std::shared_ptr<Stream> stream;
    {
      MutexLock lock(&mu_);
      stream = stream_;
    }
    if (stream != nullptr) stream->Flush();
  }

  void Close() {
    std::shared_ptr<Stream> stream;
    std::map<uint64_t, Waiting> unsent;
    {
      MutexLock lock(&mu_);
      closed_ = true;
      stream = std::move(stream_);
      unsent.swap(waiting_);
      waiting_by_request_.clear();
    }
    if (stream != nullptr) {
      stream->Cancel();
      stream->WaitForEnd();
    }
    for (auto& [id, waiting] : unsent) {
      waiting.AnswerAll(absl::UnavailableError("the link was closed"));
    }
  }

 private:
  struct Waiting {
    std::shared_ptr<const RankRequest> request;
    std::vector<Done> done;

    void AnswerAll(absl::StatusOr<WithBulk<v1::ExchangeReply>> reply) {
      for (size_t i = 0; i + 1 < done.size(); ++i) done[i](reply);
      done.back()(std::move(reply));
    }
  };

  // All but the id.
  static SendWindow::Request Describe(const RankRequest& request) {
    SendWindow::Request described;
    const v1::PushRequest* push = PushOf(request.message);
    if (push == nullptr) return described;
    described.kind = PullOf(request.message) == nullptr
                         ? SendWindow::Kind::kPush
                         : SendWindow::Kind::kPushPull;
    described.bytes = PushedBytes(request);
    for (const v1::PushPart& part : push->parts()) {
      if (part.chunks() <= 1) continue;
      const v1::RequestHeader& header = push->header();
      described.entry =
          absl::HashOf(header.job().id(), header.job().generation(),
                       header.rank().rank(), header.rank().attempt(),
                       push->clock().epoch(), push->clock().step()) |
          1;
    }
    return described;
  }

  // Sends what the window has let go.
  void Leave(uint64_t id, const std::shared_ptr<const RankRequest>& request,
             Done done, Leaves leaves) {
    SendNow(request, leaves,
            [self = shared_from_this(), id, done = std::move(done)](
                absl::StatusOr<WithBulk<v1::ExchangeReply>> reply) mutable {
              done(std::move(reply));
              self->OnAnswer(id);
            });
  }

  void OnAnswer(uint64_t id) {
    std::vector<uint64_t> next;
    {
      MutexLock lock(&mu_);
      window_.Remove(id, &next);
    }
    for (uint64_t one : next) {
      Waiting waiting;
      {
        MutexLock lock(&mu_);
        auto node = waiting_.extract(one);
        if (node.empty()) continue;  // Closed meanwhile.
        waiting = std::move(node.mapped());
        waiting_by_request_.erase(waiting.request.get());
      }
      const auto request = waiting.request;
      Leave(
          one, request,
          [waiting = std::move(waiting)](
              absl::StatusOr<WithBulk<v1::ExchangeReply>> reply) mutable {
            waiting.AnswerAll(std::move(reply));
          },
          Leaves::kNow);
    }
  }

  void SendNow(const std::shared_ptr<const RankRequest>& request, Leaves leaves,
               Done done) {
    while (true) {
      std::shared_ptr<Stream> stream;
      bool closed = false;
      {
        MutexLock lock(&mu_);
        stream = stream_;
        closed = closed_;
      }
      if (closed) return done(absl::UnavailableError("the link was closed"));
      if (stream != nullptr && stream->Send(request, leaves, &done)) {
        FailPoint("worker.sent");
        return;
      }
      // Opened without the lock; of several threads that do so, one wins.
      std::shared_ptr<Stream> fresh = Stream::Open(&stub_, share_);
      MutexLock lock(&mu_);
      if (stream_ == stream && !closed_) {
        stream_.swap(fresh);
        fresh = nullptr;
      }
      if (fresh != nullptr) fresh->Cancel();
    }
  }

  grpc::GenericStub stub_;
  const std::optional<SharedEnds> share_;

  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mu_);
  SendWindow window_ ABSL_GUARDED_BY(mu_);
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<const RankRequest*, uint64_t> waiting_by_request_
      ABSL_GUARDED_BY(mu_);
};

ServerLink::ServerLink(std::shared_ptr<grpc::Channel> channel,
                       uint64_t window_bytes, std::optional<SharedEnds> share)
    : channel_(std::move(channel)),
      outbox_(std::make_shared<Outbox>(channel_, window_bytes, share)) {}

ServerLink::~ServerLink() { outbox_->Close(); }

void ServerLink::Send(std::shared_ptr<const RankRequest> request, Done done,
                      Leaves leaves) {
  outbox_->Send(std::move(request), std::move(done), leaves);
}

void ServerLink::Flush() { outbox_->Flush(); }

}  // namespace seraph
