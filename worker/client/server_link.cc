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
#include "common/rpc/grpc_status.h"
#include "common/testing/fail_point.h"
#include "worker/client/request_writer.h"
#include "worker/client/send_window.h"

namespace seraph {

// One stream from its opening to its end. gRPC holds a reference to itself
// from Start to OnDone.
class ServerLink::Stream final
    : public grpc::ClientBidiReactor<v1::ExchangeRequest, v1::ExchangeReply> {
 public:
  // Opens it. `self` keeps the stream until it has ended.
  static std::shared_ptr<Stream> Open(v1::Parameters::Stub* stub) {
    auto stream = std::make_shared<Stream>();
    stream->self_ = stream;
    stub->async()->Exchange(&stream->context_, stream.get());
    stream->StartRead(&stream->reply_);
    // Writes are started from outside of reactions.
    stream->AddHold();
    stream->StartCall();
    return stream;
  }

  // False if the stream has broken: nothing was done with `done` then.
  bool Send(const v1::ExchangeRequest& request, Done* done) {
    MutexLock lock(&mu_);
    if (broken_) return false;
    const uint64_t number = ++last_number_;
    waiting_.emplace(number, std::move(*done));
    outbox_.push_back(request);
    outbox_.back().set_number(number);
    if (!writing_) {
      writing_ = true;
      StartWrite(&outbox_.front());
    }
    return true;
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mu_);
    outbox_.pop_front();
    writing_ = false;
    if (!ok || broken_) {
      BreakLocked();
    } else if (!outbox_.empty()) {
      writing_ = true;
      StartWrite(&outbox_.front());
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      MutexLock lock(&mu_);
      BreakLocked();
      return;
    }
    Done done;
    {
      MutexLock lock(&mu_);
      auto node = waiting_.extract(reply_.number());
      if (!node.empty()) done = std::move(node.mapped());
    }
    if (done) done(std::move(reply_));
    reply_ = v1::ExchangeReply();
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
  // No further writes; the stream ends when nothing is under way.
  void BreakLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!std::exchange(broken_, true)) {
      context_.TryCancel();
      RemoveHold();
    }
  }

  grpc::ClientContext context_;
  v1::ExchangeReply reply_;  // Of the read under way.
  Notification ended_;
  std::shared_ptr<Stream> self_;

  Mutex mu_;
  bool broken_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<v1::ExchangeRequest> outbox_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, Done> waiting_ ABSL_GUARDED_BY(mu_);
};

// What leaves when. Answers hold it: they may be on their way when the link
// has gone.
class ServerLink::Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  Outbox(std::shared_ptr<grpc::Channel> channel, uint64_t window_bytes)
      : stub_(v1::Parameters::NewStub(std::move(channel))),
        window_(window_bytes) {}

  void Send(std::shared_ptr<const v1::ExchangeRequest> request, Done done) {
    std::vector<uint64_t> leaving;
    {
      MutexLock lock(&mu_);
      if (const auto same = waiting_by_request_.find(request.get());
          same != waiting_by_request_.end()) {
        waiting_.at(same->second).done.push_back(std::move(done));
        return;
      }
      const uint64_t id = ++last_id_;
      waiting_by_request_[request.get()] = id;
      const SendWindow::Request entry = Describe(id, *request);
      Waiting& waiting = waiting_[id];
      waiting.request = std::move(request);
      waiting.done.push_back(std::move(done));
      window_.Add(entry, &leaving);
    }
    Leave(leaving);
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
    std::shared_ptr<const v1::ExchangeRequest> request;
    std::vector<Done> done;

    void AnswerAll(const absl::StatusOr<v1::ExchangeReply>& reply) {
      for (size_t i = 0; i + 1 < done.size(); ++i) done[i](reply);
      done.back()(reply);
    }
  };

  static SendWindow::Request Describe(uint64_t id,
                                      const v1::ExchangeRequest& request) {
    SendWindow::Request described{.id = id};
    const v1::PushRequest* push = PushOf(request);
    if (push == nullptr) return described;
    described.kind = PullOf(request) == nullptr ? SendWindow::Kind::kPush
                                                : SendWindow::Kind::kPushPull;
    described.bytes = push->keys().size() + push->values().size();
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
  void Leave(const std::vector<uint64_t>& ids) {
    for (uint64_t id : ids) {
      Waiting waiting;
      {
        MutexLock lock(&mu_);
        auto node = waiting_.extract(id);
        if (node.empty()) continue;  // Closed meanwhile.
        waiting = std::move(node.mapped());
        waiting_by_request_.erase(waiting.request.get());
      }
      const auto request = waiting.request;
      SendNow(*request,
              [self = shared_from_this(), id, waiting = std::move(waiting)](
                  absl::StatusOr<v1::ExchangeReply> reply) mutable {
                waiting.AnswerAll(reply);
                std::vector<uint64_t> next;
                {
                  MutexLock lock(&self->mu_);
                  self->window_.Remove(id, &next);
                }
                self->Leave(next);
              });
    }
  }

  void SendNow(const v1::ExchangeRequest& request, Done done) {
    while (true) {
      std::shared_ptr<Stream> stream;
      bool closed = false;
      {
        MutexLock lock(&mu_);
        stream = stream_;
        closed = closed_;
      }
      if (closed) return done(absl::UnavailableError("the link was closed"));
      if (stream != nullptr && stream->Send(request, &done)) {
        FailPoint("worker.sent");
        return;
      }
      // Opened without the lock; of several threads that do so, one wins.
      std::shared_ptr<Stream> fresh = Stream::Open(stub_.get());
      MutexLock lock(&mu_);
      if (stream_ == stream && !closed_) {
        stream_.swap(fresh);
        fresh = nullptr;
      }
      if (fresh != nullptr) fresh->Cancel();
    }
  }

  const std::unique_ptr<v1::Parameters::Stub> stub_;

  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mu_);
  SendWindow window_ ABSL_GUARDED_BY(mu_);
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<const v1::ExchangeRequest*, uint64_t> waiting_by_request_
      ABSL_GUARDED_BY(mu_);
};

ServerLink::ServerLink(std::shared_ptr<grpc::Channel> channel,
                       uint64_t window_bytes)
    : channel_(std::move(channel)),
      outbox_(std::make_shared<Outbox>(channel_, window_bytes)) {}

ServerLink::~ServerLink() { outbox_->Close(); }

void ServerLink::Send(std::shared_ptr<const v1::ExchangeRequest> request,
                      Done done) {
  outbox_->Send(std::move(request), std::move(done));
}

}  // namespace seraph
