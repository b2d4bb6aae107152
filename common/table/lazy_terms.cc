#include "common/table/lazy_terms.h"

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

LazySums LazyTerms::Recorded(const float* cells, const LazySums& now) const {
  LazySums then = now;
  if (decay_ > 0) {
    std::memcpy(&then.log_decay, cells, sizeof(double));
    cells += 2;
  }
  if (shrink_ > 0) std::memcpy(&then.shrink, cells, sizeof(double));
  return then;
}

void LazyTerms::Rebase(const LazySums& from, const LazySums& to,
                       float* cells) const {
  if (from == to || record_cells() == 0) return;
  const LazySums then = Recorded(cells, from);
  if (then == from) return Record(to, cells);
  const double log_scale = from.log_decay - then.log_decay;
  const double scale = std::exp(log_scale);
  const double threshold = std::fmax(0.0, from.shrink - scale * then.shrink);
  const double shrink = (to.shrink - threshold) / scale;
  // Where the scale is next to nothing, so is the weight, whatever the record.
  Record({to.log_decay - log_scale, std::isfinite(shrink) ? shrink : 0.0},
         cells);
}

LazyShift LazyTerms::Between(const float* cells, const LazySums& now) const {
  const LazySums then = Recorded(cells, now);
  if (then == now) return LazyShift();
  const double scale = then.log_decay == now.log_decay
                           ? 1.0
                           : std::exp(now.log_decay - then.log_decay);
  // Rounding could leave a difference of nothing a hair below 0.
  return LazyShift(scale, std::fmax(0.0, now.shrink - scale * then.shrink));
}

LazyTerms LazyTermsOf(const OptimizerSpec& optimizer) {
  switch (optimizer.kind) {
    case OptimizerKind::kSgd:
      return LazyTerms(optimizer.l2, optimizer.l1);
    case OptimizerKind::kAdamw:
      return LazyTerms(optimizer.weight_decay, 0.0);
    default:
      return LazyTerms();
  }
}

}  // namespace seraph
