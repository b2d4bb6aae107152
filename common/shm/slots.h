// Pieces of a shared segment, one for each request.
#ifndef SERAPH_COMMON_SHM_SLOTS_H_
#define SERAPH_COMMON_SHM_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/shm/shared_segment.h"

namespace seraph {

// Where a request's bytes lie, as its message says it.
struct SlotRef {
  uint64_t offset = 0;  // Of the slot's head.
  uint64_t length = 0;  // Of what comes after it.
  uint64_t request = 0;

  friend bool operator==(const SlotRef&, const SlotRef&) = default;
};

// Which parts of a segment are in use: first fit, neighbours that are free
// become one. Its memory is the maker's own, so that the peer cannot break it.
//
// Threads: one at a time.
class SlotTable {
 public:
  // Of a segment of so many bytes.
  explicit SlotTable(uint64_t segment_bytes);

  // A place for `length` bytes and their head; nullopt if none is free.
  std::optional<uint64_t> Take(uint64_t length);
  // Requires: `offset` was taken, and not given back.
  void Give(uint64_t offset);

  bool empty() const { return taken_.empty(); }

 private:
  std::map<uint64_t, uint64_t> free_;  // Offset -> bytes.
  std::map<uint64_t, uint64_t> taken_;
};

// A slot begins with a head that names its request. It is written after the
// bytes, and taken away before others come: who asks for the slot of another
// request than is there does not get it.

// Room for the bytes of `slot`. Requires: it lies in the segment.
char* BeginWriting(const SharedSegment& segment, const SlotRef& slot);
// The bytes are there.
void EndWriting(const SharedSegment& segment, const SlotRef& slot);

// The slot's bytes, where they lie. Errors: InvalidArgument where it does not
// lie in the segment; Unavailable where its head names another request, or
// none.
absl::StatusOr<const char*> BytesOfSlot(const SharedSegment& segment,
                                        const SlotRef& slot);

}  // namespace seraph

#endif  // SERAPH_COMMON_SHM_SLOTS_H_
