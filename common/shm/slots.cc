#include "common/shm/slots.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

// Slots begin at multiples of a cache line.
constexpr uint64_t kLine = 64;

struct Head {
  std::atomic<uint64_t> request;  // 0: nothing is there yet.
  uint64_t length;
  uint64_t maker;
  uint64_t peer;
};
static_assert(sizeof(Head) <= kLine);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

uint64_t RoundUp(uint64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

Head* HeadAt(const SharedSegment& segment, uint64_t offset) {
  return reinterpret_cast<Head*>(segment.data() + offset);
}

absl::Status CheckPlace(const SharedSegment& segment, const SlotRef& slot) {
  const uint64_t bytes = segment.bytes();
  if (slot.offset % kLine != 0 || slot.offset < SharedSegment::kHeadBytes ||
      slot.offset > bytes || bytes - slot.offset < kLine ||
      slot.length > bytes - slot.offset - kLine) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared memory: a slot of ", slot.length, " bytes at ",
                     slot.offset, " is not in a segment of ", bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckHead(const SharedSegment& segment, const SlotRef& slot) {
  const Head* head = HeadAt(segment, slot.offset);
  if (slot.request == 0 ||
      head->request.load(std::memory_order_acquire) != slot.request ||
      head->length != slot.length || head->maker != segment.name().maker ||
      head->peer != segment.name().peer) {
    return absl::UnavailableError(
        absl::StrCat("shared memory: the slot at ", slot.offset,
                     " is not that of request ", slot.request));
  }
  return absl::OkStatus();
}

}  // namespace

SlotTable::SlotTable(uint64_t segment_bytes) {
  const uint64_t begin = RoundUp(SharedSegment::kHeadBytes);
  const uint64_t end = segment_bytes / kLine * kLine;
  if (end > begin) free_[begin] = end - begin;
}

std::optional<uint64_t> SlotTable::Take(uint64_t length) {
  if (length > ~uint64_t{0} / 2) return std::nullopt;
  const uint64_t bytes = kLine + RoundUp(length);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    const auto [offset, size] = *it;
    free_.erase(it);
    if (size > bytes) free_[offset + bytes] = size - bytes;
    taken_[offset] = bytes;
    return offset;
  }
  return std::nullopt;
}

void SlotTable::Give(uint64_t offset) {
  const auto found = taken_.find(offset);
  uint64_t bytes = found->second;
  taken_.erase(found);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

char* BeginWriting(const SharedSegment& segment, const SlotRef& slot) {
  Head* const head = HeadAt(segment, slot.offset);
  head->request.store(0, std::memory_order_relaxed);
  // No byte of the new request is seen under the name of the one before.
  std::atomic_thread_fence(std::memory_order_release);
  head->length = slot.length;
  head->maker = segment.name().maker;
  head->peer = segment.name().peer;
  return segment.data() + slot.offset + kLine;
}

void EndWriting(const SharedSegment& segment, const SlotRef& slot) {
  HeadAt(segment, slot.offset)
      ->request.store(slot.request, std::memory_order_release);
}

absl::StatusOr<const char*> BytesOfSlot(const SharedSegment& segment,
                                        const SlotRef& slot) {
  SERAPH_RETURN_IF_ERROR(CheckPlace(segment, slot));
  SERAPH_RETURN_IF_ERROR(CheckHead(segment, slot));
  return segment.data() + slot.offset + kLine;
}

}  // namespace seraph
