// The combination of what all ranks pushed in one clock, for bsp.
#ifndef SERAPH_SERVER_STORE_COMBINE_H_
#define SERAPH_SERVER_STORE_COMBINE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/key_set.h"

namespace seraph {

enum class CombineKind {
  kSum,   // Over the ranks.
  kMean,  // Over the clock's examples.
  kLast,  // The highest rank wins: tables whose optimizer is assign.
};

// One rank's part of a clock, as the partition has it. Borrowed.
struct Contribution {
  KeySpan keys;                    // [n], strictly increasing.
  absl::Span<const float> values;  // [n * width].
  uint64_t examples = 0;           // That the rank's batch had.
};

struct Combined {
  KeySet keys;                // [n], strictly increasing: the union.
  std::vector<float> values;  // [n * width].
};

// Combines the contributions of ALL ranks of one clock, given by rank
// ascending; a rank without keys takes part with its examples.
//
// All arithmetic is float32, one rounding per operation. For a column of a key,
// with v_1, v_2, ... the values of the ranks that pushed the key, ascending:
//
//   sum    ((v_1 + v_2) + v_3) ...
//   mean   (((v_1 * e_1) + (v_2 * e_2)) + ...) / E, where e_i is that rank's
//          number of examples and E that of all ranks, also those that did not
//          push the key, each rounded to float32 once; E counts as 1 when 0
//   last   the last of them
//
// So a value is a function of that key's values and of the examples alone.
// It may overflow: the step then finds a gradient that is not finite.
Combined Combine(CombineKind kind, uint32_t width,
                 absl::Span<const Contribution> by_rank);

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_COMBINE_H_
