// Memory that grows in place.
#ifndef SERAPH_SERVER_STORE_SLOT_ARENA_H_
#define SERAPH_SERVER_STORE_SLOT_ARENA_H_

#include <cstddef>
#include <vector>

namespace seraph {

// Slots of equal size, of addresses rather than of memory: a page of a slot
// costs memory once it is written, and none again after Release. So whatever
// lies in a slot grows and shrinks by pages without being copied, and thousands
// of them leave no holes in a heap. Fresh pages read as zeros.
//
// Slots come from few large mappings, so that their number is not limited by
// the number of mappings that a process may have.
//
// Threads: one at a time.
class SlotArena {
 public:
  // Requires: slot_bytes is a positive multiple of PageBytes().
  explicit SlotArena(size_t slot_bytes) : slot_bytes_(slot_bytes) {}
  ~SlotArena();

  SlotArena(const SlotArena&) = delete;
  SlotArena& operator=(const SlotArena&) = delete;

  static size_t PageBytes();

  // A slot, until this is destroyed. Throws std::bad_alloc where operator new
  // would: there are no addresses left, or no memory may be promised.
  char* Add();

  // Gives pages back. Requires: both are multiples of PageBytes(), from a
  // slot's begin.
  static void Release(char* begin, size_t bytes);

 private:
  struct Mapping {
    char* begin;
    size_t slots;
  };

  const size_t slot_bytes_;
  std::vector<Mapping> mappings_;
  size_t slots_ = 0;  // Of all mappings.
  size_t used_ = 0;   // Of the last mapping.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_SLOT_ARENA_H_
