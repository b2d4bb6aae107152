#include "server/service/exchange_stream.h"

#include <utility>

namespace seraph {

ExchangeStream::ExchangeStream(ParameterCalls* calls)
    : calls_(*calls), outbox_(std::make_shared<Outbox>()) {
  {
    MutexLock lock(&outbox_->mu);
    outbox_->stream = this;
  }
  StartRead(&request_);
}

void ExchangeStream::OnReadDone(bool ok) {
  if (!ok) return FinishOnce();  // The client has said all it wanted to say.
  calls_.Exchange(request_, [outbox = outbox_](v1::ExchangeReply reply) {
    Reply(outbox, std::move(reply));
  });
  StartRead(&request_);
}

void ExchangeStream::Reply(const std::shared_ptr<Outbox>& outbox,
                           v1::ExchangeReply reply) {
  MutexLock lock(&outbox->mu);
  if (outbox->stream == nullptr || outbox->finished) return;
  outbox->replies.push_back(std::move(reply));
  if (outbox->writing) return;
  outbox->writing = true;
  // Starts an operation; its completion is another call, never inside of this.
  outbox->stream->StartWrite(&outbox->replies.front());
}

void ExchangeStream::OnWriteDone(bool ok) {
  MutexLock lock(&outbox_->mu);
  outbox_->replies.pop_front();
  outbox_->writing = false;
  if (!ok || outbox_->finished || outbox_->replies.empty()) return;
  outbox_->writing = true;
  StartWrite(&outbox_->replies.front());
}

void ExchangeStream::OnCancel() { FinishOnce(); }

void ExchangeStream::FinishOnce() {
  MutexLock lock(&outbox_->mu);
  if (std::exchange(outbox_->finished, true)) return;
  Finish(grpc::Status::OK);
}

void ExchangeStream::OnDone() {
  {
    MutexLock lock(&outbox_->mu);
    outbox_->stream = nullptr;
  }
  delete this;
}

}  // namespace seraph
