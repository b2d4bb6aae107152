#include "server/update/update_rule.h"

#include <algorithm>

namespace seraph {

void UpdateRule::ReadRun(const float* first, size_t n, const LazySums& now,
                         float* out) const {
  const float* rows[kMaxRows];
  for (size_t begin = 0; begin < n; begin += kMaxRows) {
    const size_t count = std::min(kMaxRows, n - begin);
    for (size_t i = 0; i < count; ++i) {
      rows[i] = first + (begin + i) * row_cells_;
    }
    Read(absl::MakeConstSpan(rows, count), now, out + begin * width_);
  }
}

uint64_t UpdateRule::StepRun(float* first, size_t n, const float* gradients,
                             const StepContext& step) const {
  float* rows[kMaxRows];
  for (size_t i = 0; i < n; ++i) rows[i] = first + i * row_cells_;
  return Step(absl::MakeConstSpan(rows, n), gradients, step);
}

}  // namespace seraph
