#include "common/rpc/backoff.h"

#include <algorithm>

#include "common/base/draw.h"

namespace seraph {

Backoff::Backoff(absl::Duration initial, absl::Duration max, uint64_t seed)
    : initial_(initial), max_(max), seed_(seed), next_(initial) {}

absl::Duration Backoff::Next() {
  const absl::Duration whole = std::min(next_, max_);
  next_ = std::min(next_ * 2, max_);
  return whole * (1.0 - ToUnit(Draw(seed_, {draws_++})) / 2);
}

}  // namespace seraph
