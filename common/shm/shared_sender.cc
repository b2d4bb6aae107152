#include "common/shm/shared_sender.h"

#include <cstring>

#include "absl/memory/memory.h"
#include "common/status/status_macros.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<SharedSender>> SharedSender::Make(
    uint64_t segment_bytes, uint64_t maker, uint64_t peer) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<SharedSegment> segment,
                          SharedSegment::Make(segment_bytes, maker, peer));
  return absl::WrapUnique(new SharedSender(std::move(segment)));
}

absl::StatusOr<std::unique_ptr<SharedSender>> SharedSender::Open(
    const SegmentName& name) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<SharedSegment> segment,
                          SharedSegment::Open(name));
  segment->SetOpened();
  return absl::WrapUnique(new SharedSender(std::move(segment)));
}

SharedSender::SharedSender(std::unique_ptr<SharedSegment> segment)
    : segment_(std::move(segment)), slots_(segment_->bytes()) {}

void SharedSender::TakeBack() {
  const uint64_t done = segment_->done()->load(std::memory_order_acquire);
  // Whatever the other end writes there, no slot comes back twice, or before
  // it was used.
  while (!out_.empty() && out_.front().first <= done) {
    slots_.Give(out_.front().second);
    out_.pop_front();
  }
}

std::optional<SlotRef> SharedSender::Write(
    absl::Span<const absl::string_view> pieces, size_t bytes) {
  if (bytes < kLeastBytes || !segment_->is_opened()) return std::nullopt;
  TakeBack();
  const std::optional<uint64_t> offset = slots_.Take(bytes);
  if (!offset.has_value()) return std::nullopt;
  const SlotRef slot{.offset = *offset, .length = bytes, .request = ++written_};
  char* to = BeginWriting(*segment_, slot);
  for (const absl::string_view piece : pieces) {
    if (piece.empty()) continue;
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  EndWriting(*segment_, slot);
  out_.emplace_back(slot.request, *offset);
  return slot;
}

}  // namespace seraph
