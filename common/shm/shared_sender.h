// The writing end of shared memory that carries one stream's messages.
#ifndef SERAPH_COMMON_SHM_SHARED_SENDER_H_
#define SERAPH_COMMON_SHM_SHARED_SENDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/shm/shared_segment.h"
#include "common/shm/slots.h"

namespace seraph {

// Large messages are copied into slots of a segment, and what goes through the
// stream in place of each is its SlotRef. The other end, a SharedReceiver,
// counts in the segment how many it has done with, in the order of the stream;
// their slots are used again. Slots with low addresses are preferred: they are
// in the processor's cache.
//
// A segment belongs to one stream. When that breaks, so does the segment: what
// was queued of the old stream names slots that nobody writes to any more.
//
// Threads: one at a time.
class SharedSender {
 public:
  // Smaller messages go through the stream faster.
  static constexpr size_t kLeastBytes = size_t{16} << 10;

  // Errors: as SharedSegment::Make.
  static absl::StatusOr<std::unique_ptr<SharedSender>> Make(
      uint64_t segment_bytes, uint64_t maker, uint64_t peer);

  // Into a segment that the receiver has made. Errors: as SharedSegment::Open.
  static absl::StatusOr<std::unique_ptr<SharedSender>> Open(
      const SegmentName& name);

  // What the receiver needs to open it.
  const SegmentName& name() const { return segment_->name(); }

  // A message of `bytes`, in pieces. Nullopt, with nothing done, where it has
  // to go through the stream: it is small, there is no room now, or the
  // receiver has not opened the segment (yet, or cannot).
  std::optional<SlotRef> Write(absl::Span<const absl::string_view> pieces,
                               size_t bytes);

 private:
  explicit SharedSender(std::unique_ptr<SharedSegment> segment);

  void TakeBack();

  const std::unique_ptr<SharedSegment> segment_;
  SlotTable slots_;
  uint64_t written_ = 0;  // Messages.
  // Message and slot of those that are not known to be done with.
  std::deque<std::pair<uint64_t, uint64_t>> out_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_SHM_SHARED_SENDER_H_
