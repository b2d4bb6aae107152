#include "server/service/exchange_stream.h"

#include <utility>

namespace seraph {
namespace {

// Replies that wait for their client before no more requests are read.
constexpr size_t kMaxWaiting = 1024;

}  // namespace

ExchangeStream::ExchangeStream(ParameterCalls* calls, OpenStreams* streams)
    : calls_(*calls), streams_(*streams), outbox_(std::make_shared<Outbox>()) {
  {
    MutexLock lock(&outbox_->mu);
    outbox_->stream = this;
  }
  const OpenStreams::Number number = streams_.Add([outbox = outbox_] {
    MutexLock lock(&outbox->mu);
    if (outbox->stream == nullptr || outbox->finished) return;
    outbox->finished = true;
    outbox->stream->Finish(
        grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server stops"));
  });
  {
    MutexLock lock(&outbox_->mu);
    outbox_->number = number;
  }
  StartRead(&request_);
}

void ExchangeStream::OnReadDone(bool ok) {
  // The client has said all it wanted to say.
  if (!ok) return FinishOnce(grpc::Status::OK);
  calls_.Exchange(
      request_, [outbox = outbox_](v1::ExchangeReply reply, RequestHold hold) {
        Reply(outbox, std::move(reply), std::move(hold));
      });
  {
    MutexLock lock(&outbox_->mu);
    outbox_->read_waits = outbox_->replies.size() > kMaxWaiting;
    if (outbox_->read_waits) return;
  }
  StartRead(&request_);
}

void ExchangeStream::Reply(const std::shared_ptr<Outbox>& outbox,
                           v1::ExchangeReply reply, RequestHold hold) {
  MutexLock lock(&outbox->mu);
  if (outbox->stream == nullptr || outbox->finished) return;
  outbox->replies.push_back({std::move(reply), std::move(hold)});
  if (outbox->writing) return;
  outbox->writing = true;
  // Starts an operation; its completion is another call, never inside of this.
  outbox->stream->StartWrite(&outbox->replies.front().reply);
}

void ExchangeStream::OnWriteDone(bool ok) {
  bool read = false;
  {
    MutexLock lock(&outbox_->mu);
    outbox_->replies.pop_front();
    outbox_->writing = false;
    if (!ok || outbox_->finished) return;
    if (!outbox_->replies.empty()) {
      outbox_->writing = true;
      StartWrite(&outbox_->replies.front().reply);
    }
    if (outbox_->read_waits && outbox_->replies.size() <= kMaxWaiting / 2) {
      outbox_->read_waits = false;
      read = true;
    }
  }
  if (read) StartRead(&request_);
}

void ExchangeStream::OnCancel() { FinishOnce(grpc::Status::CANCELLED); }

void ExchangeStream::FinishOnce(const grpc::Status& status) {
  MutexLock lock(&outbox_->mu);
  if (std::exchange(outbox_->finished, true)) return;
  Finish(status);
}

void ExchangeStream::OnDone() {
  OpenStreams::Number number;
  {
    MutexLock lock(&outbox_->mu);
    outbox_->stream = nullptr;
    outbox_->replies.clear();  // Requests that wait may keep the box for long.
    number = outbox_->number;
  }
  streams_.Remove(number);
  delete this;
}

}  // namespace seraph
