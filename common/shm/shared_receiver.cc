#include "common/shm/shared_receiver.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<SharedReceiver>> SharedReceiver::Open(
    const SegmentName& name) {
  auto shared = std::make_shared<Shared>();
  SERAPH_ASSIGN_OR_RETURN(shared->segment, SharedSegment::Open(name));
  shared->segment->SetOpened();
  return absl::WrapUnique(new SharedReceiver(std::move(shared)));
}

absl::StatusOr<std::unique_ptr<SharedReceiver>> SharedReceiver::Make(
    uint64_t segment_bytes, uint64_t maker, uint64_t peer) {
  auto shared = std::make_shared<Shared>();
  SERAPH_ASSIGN_OR_RETURN(shared->segment,
                          SharedSegment::Make(segment_bytes, maker, peer));
  return absl::WrapUnique(new SharedReceiver(std::move(shared)));
}

absl::StatusOr<SharedReceiver::Message> SharedReceiver::Read(
    const SlotRef& slot) {
  if (slot.request != read_ + 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shared memory: message ", slot.request, " comes after ", read_));
  }
  SERAPH_ASSIGN_OR_RETURN(const char* const bytes,
                          BytesOfSlot(*shared_->segment, slot));
  ++read_;
  {
    MutexLock lock(&shared_->mu);
    shared_->later.push_back(false);
  }
  // One allocation; its end is that of the last copy.
  std::shared_ptr<const void> lease(
      bytes, [shared = shared_, message = slot.request](const void*) {
        shared->Done(message);
      });
  return Message{{bytes, slot.length}, std::move(lease)};
}

void SharedReceiver::Shared::Done(uint64_t message) {
  MutexLock lock(&mu);
  later[message - done - 1] = true;
  while (!later.empty() && later.front()) {
    later.pop_front();
    ++done;
  }
  segment->done()->store(done, std::memory_order_release);
}

}  // namespace seraph
