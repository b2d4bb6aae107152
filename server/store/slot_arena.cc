#include "server/store/slot_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace seraph {
namespace {

// A mapping has as many slots as all before it, up to this.
constexpr size_t kMostBytes = size_t{1} << 30;

}  // namespace

size_t SlotArena::PageBytes() {
  static const size_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

SlotArena::~SlotArena() {
  for (const Mapping& mapping : mappings_) {
    munmap(mapping.begin, mapping.slots * slot_bytes_);
  }
}

char* SlotArena::Add() {
  if (mappings_.empty() || used_ == mappings_.back().slots) {
    const size_t slots =
        std::max<size_t>(1, std::min(slots_, kMostBytes / slot_bytes_));
    const size_t bytes = slots * slot_bytes_;
    void* begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) throw std::bad_alloc();
    // A huge page would take memory for the parts of slots that are not used.
    madvise(begin, bytes, MADV_NOHUGEPAGE);
    mappings_.push_back({static_cast<char*>(begin), slots});
    slots_ += slots;
    used_ = 0;
  }
  return mappings_.back().begin + used_++ * slot_bytes_;
}

void SlotArena::Release(char* begin, size_t bytes) {
  if (bytes > 0) madvise(begin, bytes, MADV_DONTNEED);
}

}  // namespace seraph
