#include "common/base/draw.h"

#include <cmath>
#include <numbers>

#include "xxhash.h"

namespace seraph {

uint64_t Draw(uint64_t seed, std::initializer_list<uint64_t> counter) {
  // On a big-endian machine the words would have to be swapped first; none is
  // a target.
  return XXH3_64bits_withSeed(counter.begin(),
                              counter.size() * sizeof(uint64_t), seed);
}

uint64_t DrawLabel(absl::string_view name) {
  return XXH3_64bits(name.data(), name.size());
}

double ToUnit(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

uint64_t ToBelow(uint64_t bits, uint64_t n) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * n) >>
                               64);
}

double ToNormal(uint64_t bits1, uint64_t bits2) {
  const double u = 1.0 - ToUnit(bits1);  // (0, 1], so that log is finite.
  return std::sqrt(-2.0 * std::log(u)) *
         std::cos(2.0 * std::numbers::pi * ToUnit(bits2));
}

}  // namespace seraph
