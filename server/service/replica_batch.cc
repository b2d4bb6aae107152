#include "server/service/replica_batch.h"

#include <utility>

#include "common/status/status_macros.h"
#include "server/service/peer_codec.h"

namespace seraph {
namespace {

constexpr BulkField kBatchFields[] = {
    {.number = v1::ReplicaBatch::kMessagesFieldNumber, .repeated = true},
    {.number = v1::ReplicaBatch::kPieceFieldNumber}};
constexpr const BulkField& kPiece = kBatchFields[1];
constexpr BulkSchema kBatchBulk = {kBatchFields};

absl::Status Add(const ByteSlices& bytes, std::vector<ReceivedMessage>* to) {
  SERAPH_ASSIGN_OR_RETURN(auto message, ParseWithBulk<v1::ReplicaMessage>(
                                            bytes, kReplicaMessageBulk));
  to->push_back({std::move(message), bytes.size()});
  return absl::OkStatus();
}

}  // namespace

MessageWriter WriteBatch(std::vector<MessageWriter> messages) {
  MessageWriter batch;
  for (MessageWriter& message : messages) {
    batch.Message(v1::ReplicaBatch::kMessagesFieldNumber, std::move(message));
  }
  return batch;
}

MessageWriter PiecesWriter::Next(size_t bytes) {
  std::vector<OwnedSlice> taken;
  while (bytes > 0 && !done()) {
    OwnedSlice slice = slices_[next_];
    slice.bytes = slice.bytes.substr(offset_, bytes);
    bytes -= slice.bytes.size();
    offset_ += slice.bytes.size();
    if (offset_ == slices_[next_].bytes.size()) {
      slices_[next_++] = OwnedSlice();
      offset_ = 0;
    }
    taken.push_back(std::move(slice));
  }
  v1::ReplicaBatch head;
  head.set_more(!done());
  MessageWriter batch;
  batch.Head(head);
  batch.Bytes(v1::ReplicaBatch::kPieceFieldNumber, taken);
  return batch;
}

absl::StatusOr<std::vector<ReceivedMessage>> BatchReader::Read(
    const ByteSlices& batch) {
  SERAPH_ASSIGN_OR_RETURN(auto parsed,
                          ParseWithBulk<v1::ReplicaBatch>(batch, kBatchBulk));
  std::vector<ReceivedMessage> messages;
  ByteSlices piece;
  for (const FoundBulk& found : parsed.bulk) {
    if (found.field == &kPiece) {
      piece = found.bytes;
    } else {
      SERAPH_RETURN_IF_ERROR(Add(found.bytes, &messages));
    }
  }
  // Of a batch that was written by others.
  if (!parsed.head.piece().empty()) {
    const auto own = std::make_shared<const std::string>(
        std::move(*parsed.head.mutable_piece()));
    piece = ByteSlices(*own, own);
  }
  for (v1::ReplicaMessage& message : *parsed.head.mutable_messages()) {
    const size_t bytes = message.ByteSizeLong();
    messages.push_back({std::move(message), bytes});
  }
  if (piece.empty()) return messages;
  pieces_.push_back(std::move(piece));
  if (parsed.head.more()) return messages;
  SERAPH_RETURN_IF_ERROR(
      Add(ByteSlices::Join(std::exchange(pieces_, {})), &messages));
  return messages;
}

}  // namespace seraph
