#include "client/bench/memory_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/time/time.h"
#include "common/time/clock.h"

namespace seraph {
namespace {

constexpr size_t kBytes = size_t{128} << 20;
constexpr absl::Duration kTime = absl::Milliseconds(300);
// Between two looks at the clock, which costs as much as a small copy.
constexpr size_t kBetweenLooks = size_t{4} << 20;

}  // namespace

double CopiedBytesPerSecond(size_t piece) {
  piece = std::clamp<size_t>(piece, 1, kBytes);
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes, 2);
  const size_t pieces = std::max<size_t>(1, kBetweenLooks / piece);
  const MonotonicClock& clock = *MonotonicClock::Real();
  const absl::Duration begin = clock.Now();
  absl::Duration now = begin;
  uint64_t copied = 0;
  size_t at = 0;
  while (now - begin < kTime) {
    for (size_t i = 0; i < pieces; ++i) {
      if (at + piece > kBytes) at = 0;
      std::memcpy(to.data() + at, from.data() + at, piece);
      at += piece;
    }
    copied += pieces * piece;
    now = clock.Now();
  }
  return double(copied) / absl::ToDoubleSeconds(now - begin);
}

}  // namespace seraph
