// The position of a rank in a job.
#ifndef SERAPH_COMMON_BASE_CLOCK_H_
#define SERAPH_COMMON_BASE_CLOCK_H_

#include <compare>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace seraph {

// (epoch, step), ordered so: (e + 1, 0) comes after every step of epoch e. A
// rank without records left in epoch e says so with an entry of its own and
// then stands at (e + 1, 0), which holds nobody up.
struct Clock {
  uint32_t epoch = 0;
  uint32_t step = 0;

  Clock NextStep() const { return {epoch, step + 1}; }
  Clock NextEpoch() const { return {epoch + 1, 0}; }

  friend auto operator<=>(const Clock&, const Clock&) = default;
};

// "(2, 17)", for messages.
inline std::string ToString(Clock clock) {
  return absl::StrCat("(", clock.epoch, ", ", clock.step, ")");
}

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_CLOCK_H_
