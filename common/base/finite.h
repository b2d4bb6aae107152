// Numbers that are none.
#ifndef SERAPH_COMMON_BASE_FINITE_H_
#define SERAPH_COMMON_BASE_FINITE_H_

#include <cstddef>

#include "absl/types/span.h"

namespace seraph {

// The index of the first value that is infinite or no number; values.size() if
// there is none, which is found out at the speed of memory.
size_t FirstNotFinite(absl::Span<const float> values);

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_FINITE_H_
