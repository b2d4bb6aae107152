#include "server/service/deliver_stream.h"

#include <utility>

namespace seraph {
namespace {

constexpr size_t kMaxWaitingBytes = size_t{64} << 20;

}  // namespace

DeliverStream::DeliverStream(ReplicaCalls* calls, OpenStreams* streams)
    : calls_(*calls), streams_(*streams), shared_(std::make_shared<Shared>()) {
  {
    MutexLock lock(&shared_->mu);
    shared_->stream = this;
  }
  const OpenStreams::Number number = streams_.Add([shared = shared_] {
    FinishOnce(shared,
               grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server stops"));
  });
  {
    MutexLock lock(&shared_->mu);
    shared_->number = number;
  }
  StartRead(&batch_);
}

void DeliverStream::OnReadDone(bool ok) {
  if (!ok) return FinishOnce(shared_, grpc::Status::OK);
  if (!HandOn()) {
    return FinishOnce(shared_, grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                                            "pieces that are no message"));
  }
  {
    MutexLock lock(&shared_->mu);
    shared_->read_waits = shared_->waiting_bytes > kMaxWaitingBytes;
    if (shared_->read_waits) return;
  }
  StartRead(&batch_);
}

bool DeliverStream::HandOn() {
  if (!batch_.piece().empty()) {
    pieces_.append(batch_.piece());
    if (batch_.more()) return true;
    batch_.Clear();
    if (!batch_.add_messages()->ParseFromString(
            std::exchange(pieces_, std::string()))) {
      return false;
    }
  }
  for (v1::ReplicaMessage& message : *batch_.mutable_messages()) {
    const size_t bytes = message.ByteSizeLong();
    {
      MutexLock lock(&shared_->mu);
      shared_->waiting_bytes += bytes;
    }
    calls_.Deliver(std::move(message),
                   [shared = shared_, bytes] { Taken(shared, bytes); });
  }
  return true;
}

void DeliverStream::Taken(const std::shared_ptr<Shared>& shared, size_t bytes) {
  MutexLock lock(&shared->mu);
  shared->waiting_bytes -= bytes;
  if (!shared->read_waits || shared->stream == nullptr || shared->finished ||
      shared->waiting_bytes > kMaxWaitingBytes / 2) {
    return;
  }
  shared->read_waits = false;
  // Starts an operation; its completion is another call, never inside of this.
  shared->stream->StartRead(&shared->stream->batch_);
}

void DeliverStream::OnCancel() { FinishOnce(shared_, grpc::Status::CANCELLED); }

void DeliverStream::FinishOnce(const std::shared_ptr<Shared>& shared,
                               const grpc::Status& status) {
  MutexLock lock(&shared->mu);
  if (shared->stream == nullptr || std::exchange(shared->finished, true)) {
    return;
  }
  shared->stream->Finish(status);
}

void DeliverStream::OnDone() {
  OpenStreams::Number number;
  {
    MutexLock lock(&shared_->mu);
    shared_->stream = nullptr;
    number = shared_->number;
  }
  streams_.Remove(number);
  delete this;
}

}  // namespace seraph
