// Sorts keys, and says where each came from.
#ifndef SERAPH_COMMON_BASE_KEY_SORTER_H_
#define SERAPH_COMMON_BASE_KEY_SORTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/key.h"

namespace seraph {

// A key and its place in some list.
struct NumberedKey {
  Key key;
  uint32_t number;
};

// One pass by the upper bits that the keys do not share, into as many buckets
// as leave a handful of keys in each if they are spread evenly, as hashed and
// mixed keys are; then each bucket by itself, which costs O(n log n) where they
// are not.
//
// Threads: one at a time; the memory is kept for the next call.
class KeySorter {
 public:
  // Ascending by key. Of equal keys none comes before the other: use it for
  // keys that are distinct where their order matters.
  void Sort(std::vector<NumberedKey>* keys);

 private:
  std::vector<NumberedKey> scattered_;
  std::vector<uint32_t> ends_;  // Of the buckets.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_KEY_SORTER_H_
