#include "common/shm/shared_room.h"

namespace seraph {

std::shared_ptr<void> SharedRoom::Take(uint64_t bytes) {
  uint64_t left = left_;
  do {
    if (bytes > left) return nullptr;
  } while (!left_.compare_exchange_weak(left, left - bytes));
  return std::shared_ptr<void>(this, [bytes](void* room) {
    static_cast<SharedRoom*>(room)->left_ += bytes;
  });
}

}  // namespace seraph
