#include "server/service/deliver_stream.h"

#include <utility>

#include "common/rpc/byte_buffer.h"
#include "common/rpc/grpc_status.h"
#include "common/status/status_macros.h"

namespace seraph {

DeliverStream::DeliverStream(ReplicaCalls* calls, OpenStreams* streams,
                             SharedRoom* room, size_t waiting_bytes)
    : calls_(*calls),
      streams_(*streams),
      shared_(std::make_shared<Shared>(waiting_bytes)),
      shared_memory_(room) {
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
  if (const absl::Status read = HandOn(); !read.ok()) {
    return FinishOnce(shared_, ToGrpcStatus(read));
  }
  {
    MutexLock lock(&shared_->mu);
    shared_->read_waits = shared_->waiting_bytes > shared_->most_waiting_bytes;
    if (shared_->read_waits) return;
  }
  StartRead(&batch_);
}

absl::Status DeliverStream::HandOn() {
  SERAPH_ASSIGN_OR_RETURN(ByteSlices received, ToSlices(batch_));
  batch_.Clear();
  SERAPH_ASSIGN_OR_RETURN(const std::optional<ByteSlices> batch,
                          shared_memory_.Unwrap(std::move(received)));
  if (!batch.has_value()) return absl::OkStatus();
  SERAPH_ASSIGN_OR_RETURN(auto messages, reader_.Read(*batch));
  for (ReceivedMessage& one : messages) {
    {
      MutexLock lock(&shared_->mu);
      shared_->waiting_bytes += one.bytes;
    }
    calls_.Deliver(
        std::move(one.message),
        [shared = shared_, bytes = one.bytes] { Taken(shared, bytes); });
  }
  return absl::OkStatus();
}

void DeliverStream::Taken(const std::shared_ptr<Shared>& shared, size_t bytes) {
  MutexLock lock(&shared->mu);
  shared->waiting_bytes -= bytes;
  if (!shared->read_waits || shared->stream == nullptr || shared->finished ||
      shared->waiting_bytes > shared->most_waiting_bytes / 2) {
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
