#include "common/base/finite.h"

#include <bit>
#include <cstdint>

namespace seraph {
namespace {

uint32_t IsNotFinite(float value) {
  constexpr uint32_t kExponent = 0x7f800000;
  return (std::bit_cast<uint32_t>(value) & kExponent) == kExponent;
}

}  // namespace

size_t FirstNotFinite(absl::Span<const float> values) {
  // A block is looked at as a whole, which compilers do in vectors: they know
  // how many there are.
  constexpr size_t kBlock = 64;
  const float* const data = values.data();
  const size_t n = values.size();
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    uint32_t any = 0;
    for (size_t k = 0; k < kBlock; ++k) any |= IsNotFinite(data[i + k]);
    if (any != 0) break;
  }
  while (i < n && IsNotFinite(data[i]) == 0) ++i;
  return i;
}

}  // namespace seraph
