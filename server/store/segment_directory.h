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

  // Sets segments [keys]; fast for keys that are near each other, and for those
  // that lie somewhat above `*near`, a place, which becomes that of the
  // greatest key. Any number will do. Requires: size() > 0.
  void Find(absl::Span<const Key> keys, size_t* near,
            uint32_t* segments) const {
    Key least = kMaxKey;
    Key most = 0;
    for (const Key key : keys) {
      least = std::min(least, key);
      most = std::max(most, key);
    }
    // Each search takes as many steps as the others: no branch is predicted
    // wrongly, and they overlap.
    const size_t low = FindFrom(*near, least);
    const size_t high = FindFrom(low, most);
    const size_t n = high + 1 - low;
    for (size_t i = 0; i < keys.size(); ++i) {
      segments[i] = segments_[Find(keys[i], low, n)];
    }
    *near = high;
    // Keys that ascend go on about as far above.
    const size_t next = std::min(high + n, size());
    __builtin_prefetch(bounds_.data() + next);
    __builtin_prefetch(segments_.data() + next);
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
  // Find, which is fast if it is `from` or somewhat above it.
  size_t FindFrom(size_t from, Key key) const {
    if (from >= size() || bounds_[from] > key) return Find(key);
    size_t step = 1;
    while (from + step < size() && bounds_[from + step] <= key) {
      from += step;
      step *= 2;
    }
    return Find(key, from, std::min(step, size() - from));
  }

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
