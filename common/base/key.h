// Keys of table rows and ranges of them.
#ifndef SERAPH_COMMON_BASE_KEY_H_
#define SERAPH_COMMON_BASE_KEY_H_

#include <cstdint>
#include <limits>

namespace seraph {

// Names a row of a table. A dense table has the keys [0, keys); a sparse one
// may use all of uint64.
using Key = uint64_t;

inline constexpr Key kMaxKey = std::numeric_limits<Key>::max();

// A range of keys, both ends included: [0, kMaxKey] is a range like any other,
// which a half-open range of uint64 could not say.
struct KeyRange {
  Key first = 0;
  Key last = kMaxKey;

  bool Contains(Key key) const { return first <= key && key <= last; }
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_KEY_H_
