#include "worker/client/server_link.h"

#include <deque>
#include <utility>
#include <vector>

#include "common/concurrent/notification.h"
#include "common/rpc/grpc_status.h"

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

ServerLink::ServerLink(std::shared_ptr<grpc::Channel> channel)
    : stub_(v1::Parameters::NewStub(std::move(channel))) {}

ServerLink::~ServerLink() {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    stream = std::move(stream_);
  }
  if (stream == nullptr) return;
  stream->Cancel();
  stream->WaitForEnd();
}

void ServerLink::Send(std::shared_ptr<const v1::ExchangeRequest> request,
                      Done done) {
  while (true) {
    std::shared_ptr<Stream> stream;
    {
      MutexLock lock(&mu_);
      stream = stream_;
    }
    if (stream != nullptr && stream->Send(*request, &done)) return;
    // Opened without the lock; of several threads that do so, one wins.
    std::shared_ptr<Stream> fresh = Stream::Open(stub_.get());
    MutexLock lock(&mu_);
    if (stream_ == stream) {
      stream_.swap(fresh);
      fresh = nullptr;
    }
    if (fresh != nullptr) fresh->Cancel();
  }
}

}  // namespace seraph
