// Randomness as a function of its arguments.
//
// Whatever is random in a job (initial values, shuffles, the validation part,
// dropout) is drawn by these functions from the job's seed and the place of
// the draw. There is no generator state: a draw is the same whoever makes it,
// when and in which order, so that a re-run of a clock draws the same.
#ifndef SERAPH_COMMON_BASE_DRAW_H_
#define SERAPH_COMMON_BASE_DRAW_H_

#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"

namespace seraph {

// 64 uniform bits: XXH3 of the little-endian bytes of `counter`, seeded with
// `seed`. The same on every machine and in every version.
uint64_t Draw(uint64_t seed, std::initializer_list<uint64_t> counter);

// Turns a name (of a table, say) into a number for `counter`.
uint64_t DrawLabel(absl::string_view name);

// Uniform in [0, 1): the upper 53 bits of `bits`.
double ToUnit(uint64_t bits);

// Uniform in [0, n), n > 0, by the multiply-and-shift rule (Lemire, "Fast
// Random Integer Generation in an Interval", 2019, without rejection: the bias
// is below n / 2^64).
uint64_t ToBelow(uint64_t bits, uint64_t n);

// A standard normal value from two independent draws, by Box and Muller.
double ToNormal(uint64_t bits1, uint64_t bits2);

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_DRAW_H_
