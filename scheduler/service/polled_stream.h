// Streams that say what is new when somebody looks.
#ifndef SERAPH_SCHEDULER_SERVICE_POLLED_STREAM_H_
#define SERAPH_SCHEDULER_SERVICE_POLLED_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/grpc_status.h"

namespace seraph {

// What a stream has to say.
struct StreamStep {
  enum Kind { kMessage, kWait, kEnd };
  Kind kind = kWait;
  bool more = false;    // kMessage: there may be another one at once.
  absl::Status status;  // kEnd.
};

// A stream that can be looked at.
class Pollable {
 public:
  virtual ~Pollable() = default;
  // Sends what is new. False once the stream has ended.
  virtual bool Poll() = 0;
  // Ends the stream.
  virtual void Close(const absl::Status& status) = 0;
};

// All open streams of a service. Poll() is called by a periodic task.
//
// Threads: every method may be called from any thread.
class StreamPoller {
 public:
  // The stream stays until it has ended.
  void Add(std::shared_ptr<Pollable> stream) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::Status closed;
    {
      MutexLock lock(&mu_);
      closed = closed_;
      if (closed.ok()) streams_.push_back(stream);
    }
    if (closed.ok()) {
      stream->Poll();
    } else {
      stream->Close(closed);
    }
  }

  void Poll() ABSL_LOCKS_EXCLUDED(mu_) {
    std::list<std::shared_ptr<Pollable>> streams;
    {
      MutexLock lock(&mu_);
      streams.swap(streams_);
    }
    streams.remove_if([](const auto& stream) { return !stream->Poll(); });
    absl::Status closed;
    {
      MutexLock lock(&mu_);
      closed = closed_;
      if (closed.ok()) streams_.splice(streams_.end(), streams);
    }
    for (const auto& stream : streams) stream->Close(closed);
  }

  // Ends all streams, now and from now on. `status` is an error.
  void Close(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_) {
    std::list<std::shared_ptr<Pollable>> streams;
    {
      MutexLock lock(&mu_);
      closed_ = status;
      streams.swap(streams_);
    }
    for (const auto& stream : streams) stream->Close(status);
  }

 private:
  Mutex mu_;
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
  std::list<std::shared_ptr<Pollable>> streams_ ABSL_GUARDED_BY(mu_);
};

// A server stream over a function that gives the next message. Deletes itself
// when gRPC is done with it.
template <typename Message>
class PolledStream final : public grpc::ServerWriteReactor<Message> {
 public:
  // Fills the message for kMessage. Called by one thread at a time.
  using Next = std::function<StreamStep(Message*)>;

  static PolledStream* Open(StreamPoller* poller, Next next) {
    auto* stream = new PolledStream(std::move(next));
    poller->Add(stream->state_);
    return stream;
  }

  void OnWriteDone(bool ok) override {
    const std::shared_ptr<State> state = state_;
    bool more;
    {
      MutexLock lock(&state->mu);
      state->busy = false;
      more = state->more;
    }
    if (!ok) {
      state->Close(absl::CancelledError("the client has gone"));
    } else if (more) {
      state->Poll();
    }
  }

  void OnCancel() override {
    state_->Close(absl::CancelledError("the client has gone"));
  }

  void OnDone() override { delete this; }

 private:
  struct State final : Pollable {
    explicit State(Next n) : next(std::move(n)) {}

    bool Poll() override ABSL_LOCKS_EXCLUDED(mu) {
      {
        MutexLock lock(&mu);
        if (stream == nullptr) return false;
        if (busy) return true;
        busy = true;
      }
      const StreamStep step = next(&message);  // Of whoever has set `busy`.
      MutexLock lock(&mu);
      if (stream == nullptr) return false;
      switch (step.kind) {
        case StreamStep::kMessage:
          more = step.more;
          stream->StartWrite(&message);  // OnWriteDone clears `busy`.
          return true;
        case StreamStep::kWait:
          busy = false;
          return true;
        case StreamStep::kEnd:
          std::exchange(stream, nullptr)->Finish(ToGrpcStatus(step.status));
          return false;
      }
      return false;
    }

    void Close(const absl::Status& status) override ABSL_LOCKS_EXCLUDED(mu) {
      MutexLock lock(&mu);
      if (stream == nullptr) return;
      std::exchange(stream, nullptr)->Finish(ToGrpcStatus(status));
    }

    const Next next;
    Message message;

    Mutex mu;
    PolledStream* stream ABSL_GUARDED_BY(mu) = nullptr;  // Null: finished.
    bool busy ABSL_GUARDED_BY(mu) = false;               // Asking, or writing.
    bool more ABSL_GUARDED_BY(mu) = false;
  };

  explicit PolledStream(Next next)
      : state_(std::make_shared<State>(std::move(next))) {
    MutexLock lock(&state_->mu);
    state_->stream = this;
  }

  const std::shared_ptr<State> state_;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_POLLED_STREAM_H_
