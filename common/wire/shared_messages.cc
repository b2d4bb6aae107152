#include "common/wire/shared_messages.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/status/status_macros.h"
#include "proto/types.pb.h"

namespace seraph {
namespace {

// Addresses only: what is never used costs no memory.
constexpr uint64_t kSegmentBytes = uint64_t{32} << 20;

// Tags of the envelope's fields, length-delimited. No other message of a stream
// begins with one of them.
constexpr absl::string_view kSegmentTag = "\xa2\x01";
constexpr absl::string_view kSlotTag = "\xaa\x01";
static_assert(v1::SharedEnvelope::kSegmentFieldNumber == 20);
static_assert(v1::SharedEnvelope::kSlotFieldNumber == 21);

bool IsEnvelope(const ByteSlices& message) {
  if (message.size() < 2) return false;
  const absl::string_view first = message.pieces()[0];
  const char tag[] = {first[0],
                      first.size() > 1 ? first[1] : message.pieces()[1][0]};
  const absl::string_view found(tag, sizeof(tag));
  return found == kSegmentTag || found == kSlotTag;
}

SegmentName FromProto(const v1::SharedSegment& segment) {
  return {.pid = segment.pid(),
          .fd = segment.fd(),
          .bytes = segment.bytes(),
          .maker = segment.maker(),
          .peer = segment.peer(),
          .token = segment.token()};
}

void ToProto(const SegmentName& name, v1::SharedSegment* segment) {
  segment->set_pid(name.pid);
  segment->set_fd(name.fd);
  segment->set_bytes(name.bytes);
  segment->set_maker(name.maker);
  segment->set_peer(name.peer);
  segment->set_token(name.token);
}

void Log(absl::string_view event, const absl::Status& status) {
  spdlog::info("shared_memory.{} status={} next=without", event,
               LogValue(status));
}

}  // namespace

SharedMessageWriter::SharedMessageWriter(uint64_t maker, uint64_t peer) {
  absl::StatusOr<std::unique_ptr<SharedSender>> sender =
      SharedSender::Make(kSegmentBytes, maker, peer);
  if (sender.ok()) {
    sender_ = *std::move(sender);
  } else {
    Log("not_made", sender.status());
  }
}

std::optional<MessageWriter> SharedMessageWriter::Offer(
    const SharedMessageReader* replies) const {
  if (sender_ == nullptr) return std::nullopt;
  v1::SharedEnvelope envelope;
  ToProto(sender_->name(), envelope.mutable_segment());
  if (replies != nullptr && replies->segment() != nullptr) {
    ToProto(*replies->segment(), envelope.mutable_replies());
  }
  MessageWriter offer;
  offer.Head(envelope);
  return offer;
}

std::vector<OwnedSlice> SharedMessageWriter::Wrap(MessageWriter message) {
  const size_t bytes = message.size();
  std::vector<OwnedSlice> slices = message.Finish();
  if (sender_ == nullptr || bytes < SharedSender::kLeastBytes) return slices;
  std::vector<absl::string_view> pieces;
  pieces.reserve(slices.size());
  for (const OwnedSlice& slice : slices) pieces.push_back(slice.bytes);
  const std::optional<SlotRef> slot = sender_->Write(pieces, bytes);
  if (!slot.has_value()) return slices;
  v1::SharedEnvelope envelope;
  envelope.mutable_slot()->set_offset(slot->offset);
  envelope.mutable_slot()->set_length(slot->length);
  envelope.mutable_slot()->set_message(slot->request);
  MessageWriter head;
  head.Head(envelope);
  return head.Finish();
}

absl::StatusOr<std::optional<ByteSlices>> SharedMessageReader::Unwrap(
    ByteSlices message) {
  if (!IsEnvelope(message)) return std::make_optional(std::move(message));
  v1::SharedEnvelope envelope;
  if (!envelope.ParseFromString(message.ToString())) {
    return absl::InvalidArgumentError("bytes that are no envelope");
  }
  if (envelope.has_slot()) {
    if (receiver_ == nullptr) {
      return absl::InvalidArgumentError(
          "a message in shared memory that was not opened");
    }
    SERAPH_ASSIGN_OR_RETURN(
        SharedReceiver::Message read,
        receiver_->Read({.offset = envelope.slot().offset(),
                         .length = envelope.slot().length(),
                         .request = envelope.slot().message()}));
    return std::make_optional(ByteSlices(read.bytes, std::move(read.lease)));
  }
  if (room_ != nullptr && receiver_ == nullptr) Open(envelope);
  return std::nullopt;
}

SharedMessageReader::SharedMessageReader(uint64_t maker, uint64_t peer) {
  absl::StatusOr<std::unique_ptr<SharedReceiver>> receiver =
      SharedReceiver::Make(kSegmentBytes, maker, peer);
  if (receiver.ok()) {
    receiver_ = *std::move(receiver);
  } else {
    Log("not_made", receiver.status());
  }
}

// What cannot be opened is of another user, say, or another namespace of
// processes.
void SharedMessageReader::Open(const v1::SharedEnvelope& offer) {
  const uint64_t bytes =
      absl::uint128(offer.segment().bytes()) + offer.replies().bytes() >
              std::numeric_limits<uint64_t>::max()
          ? std::numeric_limits<uint64_t>::max()
          : offer.segment().bytes() + offer.replies().bytes();
  std::shared_ptr<void> taken = room_->Take(bytes);
  if (taken == nullptr) {
    return Log("not_opened", absl::ResourceExhaustedError(absl::StrCat(
                                 "of the memory that may be shared ",
                                 room_->left(), " bytes are left")));
  }
  absl::StatusOr<std::unique_ptr<SharedReceiver>> receiver =
      SharedReceiver::Open(FromProto(offer.segment()));
  if (!receiver.ok()) return Log("not_opened", receiver.status());
  receiver_ = *std::move(receiver);
  taken_ = std::move(taken);
  if (!offer.has_replies()) return;
  absl::StatusOr<std::unique_ptr<SharedSender>> sender =
      SharedSender::Open(FromProto(offer.replies()));
  if (!sender.ok()) return Log("not_opened", sender.status());
  sender_ = *std::move(sender);
}

}  // namespace seraph
