// How much memory a process shares with others.
#ifndef SERAPH_COMMON_SHM_SHARED_ROOM_H_
#define SERAPH_COMMON_SHM_SHARED_ROOM_H_

#include <atomic>
#include <cstdint>
#include <memory>

namespace seraph {

// Segments count as a whole, though what is never used of one costs nothing: so
// the bound holds whatever their makers do.
//
// Threads: every method may be called from any thread.
class SharedRoom {
 public:
  explicit SharedRoom(uint64_t bytes) : left_(bytes) {}

  // Room for so many bytes, until the last copy of it is gone; null if there is
  // not so much left. This must outlive it.
  std::shared_ptr<void> Take(uint64_t bytes);

  uint64_t left() const { return left_; }

 private:
  std::atomic<uint64_t> left_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_SHM_SHARED_ROOM_H_
