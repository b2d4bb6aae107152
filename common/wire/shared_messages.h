// A stream's messages, the large ones through shared memory.
#ifndef SERAPH_COMMON_WIRE_SHARED_MESSAGES_H_
#define SERAPH_COMMON_WIRE_SHARED_MESSAGES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/shm/shared_receiver.h"
#include "common/shm/shared_room.h"
#include "common/shm/shared_sender.h"
#include "common/wire/byte_slices.h"
#include "common/wire/message_writer.h"
#include "proto/types.pb.h"

namespace seraph {

class SharedMessageReader;

// The sender's end of one stream, of messages that have the fields of
// proto/types.proto's SharedEnvelope.
//
// Threads: one at a time.
class SharedMessageWriter {
 public:
  // Without shared memory: every message leaves as it is.
  SharedMessageWriter() = default;

  // With a segment of its own; without, where none can be made. `maker` and
  // `peer` are the incarnations of this end and the other.
  SharedMessageWriter(uint64_t maker, uint64_t peer);

  // Into a segment that the reader has made; null: without.
  explicit SharedMessageWriter(std::unique_ptr<SharedSender> sender)
      : sender_(std::move(sender)) {}

  // What to send before the first message; nullopt: nothing. `replies`, unless
  // null: what comes in the other direction may lie in its segment.
  std::optional<MessageWriter> Offer(
      const SharedMessageReader* replies = nullptr) const;

  // What to send for a message.
  std::vector<OwnedSlice> Wrap(MessageWriter message);

 private:
  std::unique_ptr<SharedSender> sender_;  // Null: there is no segment.
};

// The receiver's end.
//
// Threads: one at a time.
class SharedMessageReader {
 public:
  // `room`: for the segments of an offer, which is not taken where there is not
  // enough; null: none is taken. It must outlive this.
  explicit SharedMessageReader(SharedRoom* room) : room_(room) {}

  // Of messages in a segment that this end makes, if it can.
  SharedMessageReader(uint64_t maker, uint64_t peer);

  // What was sent: the message itself, or what lies in shared memory, whose
  // slot is given back when the last copy of the slices is gone. Nullopt:
  // nothing but an offer.
  //
  // Whoever made the segment may still write to it: read each byte once, and
  // judge what was read.
  //
  // Errors: InvalidArgument, Unavailable, as SharedReceiver::Read.
  absl::StatusOr<std::optional<ByteSlices>> Unwrap(ByteSlices message);

  // The writer for the other direction, once, after an offer that had a segment
  // for it; else null.
  std::unique_ptr<SharedSender> TakeSender() { return std::move(sender_); }

  // The segment that was made or opened; null: none.
  const SegmentName* segment() const {
    return receiver_ == nullptr ? nullptr : &receiver_->name();
  }

 private:
  void Open(const v1::SharedEnvelope& offer);

  SharedRoom* room_ = nullptr;
  std::shared_ptr<void> taken_;  // Of the room.
  std::unique_ptr<SharedReceiver> receiver_;
  std::unique_ptr<SharedSender> sender_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_SHARED_MESSAGES_H_
