#include "server/service/exchange_stream.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "common/rpc/byte_buffer.h"
#include "common/rpc/grpc_status.h"
#include "common/status/status_macros.h"
#include "common/wire/exchange_bulk.h"

namespace seraph {
namespace {

// Replies that wait for their client before no more requests are read.
constexpr size_t kMaxWaiting = 1024;
// Replies go together up to about so many bytes.
constexpr size_t kBatchBytes = 256 << 10;
constexpr size_t kReplyBytes = 64;  // Of one without rows, about.
// Replies that wait for those to the other requests of their message.
constexpr size_t kGathered = 32;
// Of requests that came as one message, without their bulk: so much memory is
// kept for the next ones.
constexpr size_t kArenaBytes = 16 << 10;

google::protobuf::ArenaOptions OptionsOf(char* block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = kArenaBytes;
  return options;
}

}  // namespace

ExchangeStream::ExchangeStream(ParameterCalls* calls, OpenStreams* streams,
                               SharedRoom* room)
    : calls_(*calls),
      streams_(*streams),
      outbox_(std::make_shared<Outbox>()),
      shared_requests_(room),
      arena_block_(new char[kArenaBytes]),
      arena_(OptionsOf(arena_block_.get())) {
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
  if (!ok) {
    MutexLock lock(&outbox_->mu);
    outbox_->read_all = true;
    return FinishIfAllIsSaid();
  }
  if (const absl::Status read = HandOn(); !read.ok()) {
    return FinishOnce(ToGrpcStatus(read));
  }
  {
    MutexLock lock(&outbox_->mu);
    outbox_->read_waits = outbox_->replies.size() > kMaxWaiting;
    if (outbox_->read_waits) return;
  }
  StartRead(&request_);
}

absl::Status ExchangeStream::HandOn() {
  SERAPH_ASSIGN_OR_RETURN(ByteSlices received, ToSlices(request_));
  request_.Clear();
  SERAPH_ASSIGN_OR_RETURN(const std::optional<ByteSlices> bytes,
                          shared_requests_.Unwrap(std::move(received)));
  if (!bytes.has_value()) {
    if (std::unique_ptr<SharedSender> sender = shared_requests_.TakeSender();
        sender != nullptr) {
      auto shared = std::make_shared<SharedMessageWriter>(std::move(sender));
      MutexLock lock(&outbox_->mu);
      outbox_->shared = std::move(shared);
    }
    return absl::OkStatus();
  }
  bool is_batch = false;
  const auto reset = absl::MakeCleanup([this] { arena_.Reset(); });
  SERAPH_ASSIGN_OR_RETURN(
      const auto requests,
      ParseBatchOnArena<v1::ExchangeRequest>(
          *bytes, kExchangeBatchBulk, kExchangeBulk, &arena_, &is_batch));
  {
    MutexLock lock(&outbox_->mu);
    outbox_->batches |= is_batch;
    outbox_->unanswered += requests.size();
    outbox_->gathering = std::this_thread::get_id();
  }
  for (const WithBulkOnArena<v1::ExchangeRequest>& request : requests) {
    calls_.Exchange(*request.head, request,
                    [outbox = outbox_](WithRows<v1::ExchangeReply> reply,
                                       RequestHold hold) {
                      Reply(outbox, std::move(reply), std::move(hold));
                    });
  }
  Batch batch;
  {
    MutexLock lock(&outbox_->mu);
    outbox_->gathering = {};
    if (outbox_->writing || outbox_->finished || outbox_->replies.empty()) {
      return absl::OkStatus();
    }
    outbox_->writing = true;
    batch = TakeBatch(outbox_.get());
  }
  Write(outbox_, std::move(batch));
  return absl::OkStatus();
}

void ExchangeStream::Reply(const std::shared_ptr<Outbox>& outbox,
                           WithRows<v1::ExchangeReply> reply,
                           RequestHold hold) {
  size_t bytes = kReplyBytes;
  for (const PulledRows& rows : reply.rows) {
    bytes += BytesOf(rows).size();
  }
  Batch batch;
  {
    MutexLock lock(&outbox->mu);
    if (outbox->stream == nullptr || outbox->finished) return;
    --outbox->unanswered;
    outbox->replies.push_back({std::move(reply), std::move(hold), bytes});
    if (outbox->writing || (outbox->gathering == std::this_thread::get_id() &&
                            outbox->replies.size() < kGathered)) {
      return;
    }
    outbox->writing = true;
    batch = TakeBatch(outbox.get());
  }
  Write(outbox, std::move(batch));
}

ExchangeStream::Batch ExchangeStream::TakeBatch(Outbox* outbox) {
  Batch batch{.is_batch = outbox->batches};
  size_t bytes = 0;
  while (!outbox->replies.empty() &&
         (batch.replies.empty() ||
          (batch.is_batch &&
           bytes + outbox->replies.front().bytes <= kBatchBytes))) {
    bytes += outbox->replies.front().bytes;
    batch.replies.push_back(std::move(outbox->replies.front()));
    outbox->replies.pop_front();
  }
  return batch;
}

void ExchangeStream::Write(const std::shared_ptr<Outbox>& outbox, Batch batch) {
  MessageWriter message;
  std::vector<RequestHold> holds;
  for (Outgoing& one : batch.replies) {
    MessageWriter reply = WriteReply(std::move(one.reply));
    if (batch.is_batch) {
      message.Message(v1::ExchangeReply::kBatchFieldNumber, std::move(reply));
    } else {
      message = std::move(reply);
    }
    holds.push_back(std::move(one.hold));
  }
  std::shared_ptr<SharedMessageWriter> shared;
  {
    MutexLock lock(&outbox->mu);
    shared = outbox->shared;
  }
  grpc::ByteBuffer buffer = ToByteBuffer(shared->Wrap(std::move(message)));
  MutexLock lock(&outbox->mu);
  if (outbox->stream == nullptr || outbox->finished) return;
  ExchangeStream* const stream = outbox->stream;
  stream->reply_.Swap(&buffer);
  stream->holds_ = std::move(holds);
  // Starts an operation; its completion is another call, never inside of this.
  stream->StartWrite(&stream->reply_);
}

void ExchangeStream::OnWriteDone(bool ok) {
  // What was held for the replies goes without the lock.
  std::exchange(holds_, {}).clear();
  bool read = false;
  Batch batch;
  {
    MutexLock lock(&outbox_->mu);
    if (!ok || outbox_->finished) return;
    outbox_->writing = !outbox_->replies.empty();
    if (outbox_->writing) batch = TakeBatch(outbox_.get());
    FinishIfAllIsSaid();
    if (outbox_->read_waits && outbox_->replies.size() <= kMaxWaiting / 2) {
      outbox_->read_waits = false;
      read = true;
    }
  }
  if (!batch.replies.empty()) Write(outbox_, std::move(batch));
  if (read) StartRead(&request_);
}

void ExchangeStream::OnCancel() { FinishOnce(grpc::Status::CANCELLED); }

void ExchangeStream::FinishIfAllIsSaid() {
  if (!outbox_->read_all || outbox_->unanswered > 0 || outbox_->writing ||
      std::exchange(outbox_->finished, true)) {
    return;
  }
  Finish(grpc::Status::OK);
}

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
