#include "server/update/lazy_terms.h"

#include <cmath>
#include <cstring>

namespace seraph {

LazySums LazyTerms::Advance(const LazySums& sums, double eta) const {
  LazySums next = sums;
  if (decay_ > 0) next.log_decay += std::log1p(-eta * decay_);
  if (shrink_ > 0) {
    next.shrink = (1.0 - eta * decay_) * sums.shrink + eta * shrink_;
  }
  return next;
}

void LazyTerms::Record(const LazySums& sums, float* cells) const {
  if (decay_ > 0) {
    std::memcpy(cells, &sums.log_decay, sizeof(double));
    cells += 2;
  }
  if (shrink_ > 0) std::memcpy(cells, &sums.shrink, sizeof(double));
}

LazyShift LazyTerms::Between(const float* cells, const LazySums& now) const {
  LazySums then = now;
  if (decay_ > 0) {
    std::memcpy(&then.log_decay, cells, sizeof(double));
    cells += 2;
  }
  if (shrink_ > 0) std::memcpy(&then.shrink, cells, sizeof(double));
  if (then == now) return LazyShift();
  const double scale = then.log_decay == now.log_decay
                           ? 1.0
                           : std::exp(now.log_decay - then.log_decay);
  // Rounding could leave a difference of nothing a hair below 0.
  return LazyShift(scale, std::fmax(0.0, now.shrink - scale * then.shrink));
}

}  // namespace seraph
