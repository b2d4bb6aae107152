#include "common/base/key_order.h"

#include <cstdint>

namespace seraph {
namespace {

// Looked at as a whole, which compilers do in vectors: they know how many there
// are.
constexpr size_t kBlock = 64;

}  // namespace

size_t FirstNotAbove(absl::Span<const Key> keys) {
  const Key* const data = keys.data();
  const size_t n = keys.size();
  size_t i = 1;
  for (; i + kBlock <= n; i += kBlock) {
    uint64_t any = 0;
    for (size_t k = 0; k < kBlock; ++k) {
      any |= data[i + k] <= data[i + k - 1];
    }
    if (any != 0) break;
  }
  while (i < n && data[i] > data[i - 1]) ++i;
  return i < n ? i : n;
}

bool AreConsecutive(absl::Span<const Key> keys) {
  if (!AreConsecutiveIfIncreasing(keys)) return false;
  const Key* const data = keys.data();
  const size_t n = keys.size();
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    uint64_t differ = 0;
    for (size_t k = 0; k < kBlock; ++k) {
      differ |= data[i + k] ^ (data[0] + i + k);
    }
    if (differ != 0) return false;
  }
  for (; i < n; ++i) {
    if (data[i] != data[0] + i) return false;
  }
  return true;
}

}  // namespace seraph
