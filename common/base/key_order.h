// How the keys of a list follow each other.
#ifndef SERAPH_COMMON_BASE_KEY_ORDER_H_
#define SERAPH_COMMON_BASE_KEY_ORDER_H_

#include <cstddef>

#include "absl/types/span.h"
#include "common/base/key.h"

namespace seraph {

// The index of the first key that is not above the one before it; keys.size()
// if they strictly increase, which is found out at the speed of memory.
size_t FirstNotAbove(absl::Span<const Key> keys);

// Whether each key is one more than the one before it. Lists that do not look
// like it at their ends cost nothing.
bool AreConsecutive(absl::Span<const Key> keys);

// The same, known from the ends alone. Requires: keys strictly increase.
inline bool AreConsecutiveIfIncreasing(absl::Span<const Key> keys) {
  return keys.empty() || keys.back() - keys.front() == keys.size() - 1;
}

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_KEY_ORDER_H_
