// Which segment has a key.
#ifndef SERAPH_SERVER_STORE_SEGMENT_DIRECTORY_H_
#define SERAPH_SERVER_STORE_SEGMENT_DIRECTORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/key.h"

namespace seraph {

// The segments of a store in the order of keys. Each has the keys from its
// bound up to the next one's; the first bound is 0.
//
// Threads: const methods may run side by side; any other alone.
class SegmentDirectory {
 public:
  size_t size() const { return bounds_.size(); }
  Key bound(size_t at) const { return bounds_[at]; }
  uint32_t segment(size_t at) const { return segments_[at]; }
  size_t bytes() const { return size() * (sizeof(Key) + sizeof(uint32_t)); }

  // Where the segment of `key` is. Requires: size() > 0.
  size_t Find(Key key) const { return Find(key, 0, size()); }

  // Sets segments [keys]; fast for keys that are near each other.
  // Requires: size() > 0.
  void Find(absl::Span<const Key> keys, uint32_t* segments) const {
    Key least = kMaxKey;
    Key most = 0;
    for (const Key key : keys) {
      least = std::min(least, key);
      most = std::max(most, key);
    }
    // Each search takes as many steps as the others: no branch is predicted
    // wrongly, and they overlap.
    const size_t low = Find(least);
    const size_t n = Find(most, low, size() - low) + 1 - low;
    for (size_t i = 0; i < keys.size(); ++i) {
      segments[i] = segments_[Find(keys[i], low, n)];
    }
  }

  // The segment with this number comes to `at`.
  void Add(size_t at, Key bound, uint32_t segment) {
    bounds_.insert(bounds_.begin() + at, bound);
    segments_.insert(segments_.begin() + at, segment);
  }

  // The keys of the segment at `at` are of the one before it from now on; or of
  // the one behind it, if it is the first.
  void Remove(size_t at) {
    bounds_.erase(bounds_.begin() + at);
    segments_.erase(segments_.begin() + at);
    if (!bounds_.empty()) bounds_.front() = 0;
  }

 private:
  // The last of the n from `low` whose bound is not above `key`, or `low`.
  size_t Find(Key key, size_t low, size_t n) const {
    const Key* at = bounds_.data() + low;
    while (n > 1) {
      const size_t half = n / 2;
      at += at[half] <= key ? half : 0;
      n -= half;
    }
    return at - bounds_.data();
  }

  std::vector<Key> bounds_;
  std::vector<uint32_t> segments_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_SEGMENT_DIRECTORY_H_
