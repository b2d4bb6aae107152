// The reading end of shared memory that carries one stream's messages.
#ifndef SERAPH_COMMON_SHM_SHARED_RECEIVER_H_
#define SERAPH_COMMON_SHM_SHARED_RECEIVER_H_

#include <cstdint>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/concurrent/mutex.h"
#include "common/shm/shared_segment.h"
#include "common/shm/slots.h"

namespace seraph {

// See SharedSender. The other end may write to the segment at any time: whoever
// reads a message copies what it keeps before it judges it.
class SharedReceiver {
 public:
  struct Message {
    absl::string_view bytes;
    // The slot is done with when the last copy of it is gone; until then the
    // bytes stay, and the segment.
    std::shared_ptr<const void> lease;
  };

  // Of a segment that this end makes. Errors: as SharedSegment::Make.
  static absl::StatusOr<std::unique_ptr<SharedReceiver>> Make(
      uint64_t segment_bytes, uint64_t maker, uint64_t peer);

  // What the sender needs to open it.
  const SegmentName& name() const { return shared_->segment->name(); }

  // Opens the segment, and lets the sender know. Errors: as
  // SharedSegment::Open.
  static absl::StatusOr<std::unique_ptr<SharedReceiver>> Open(
      const SegmentName& name);

  // The stream's next message of the segment. Errors: InvalidArgument where it
  // is not the next one, or lies elsewhere; Unavailable where its slot is that
  // of another message. Threads: one at a time.
  absl::StatusOr<Message> Read(const SlotRef& slot);

 private:
  // Outlives this as long as there is a lease. Leases end on any thread.
  struct Shared {
    std::unique_ptr<SharedSegment> segment;
    Mutex mu;
    uint64_t done ABSL_GUARDED_BY(mu) = 0;       // All up to this message are.
    std::deque<bool> later ABSL_GUARDED_BY(mu);  // Which are, behind it.

    void Done(uint64_t message) ABSL_LOCKS_EXCLUDED(mu);
  };

  explicit SharedReceiver(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)) {}

  const std::shared_ptr<Shared> shared_;
  uint64_t read_ = 0;  // Messages.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_SHM_SHARED_RECEIVER_H_
