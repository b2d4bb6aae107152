#include "server/update/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace seraph {

double ScheduleFactor(const ScheduleSpec& schedule, Clock clock,
                      uint64_t steps_per_epoch, uint64_t epochs) {
  steps_per_epoch = std::max<uint64_t>(steps_per_epoch, 1);
  const uint64_t t = clock.epoch * steps_per_epoch + clock.step;
  const uint64_t warmup = schedule.warmup_steps;
  if (t < warmup) {
    return static_cast<double>(t + 1) / static_cast<double>(warmup);
  }
  const double u = static_cast<double>(t - warmup);
  const double decay_steps = static_cast<double>(
      schedule.decay_steps > 0 ? schedule.decay_steps : steps_per_epoch);
  switch (schedule.kind) {
    case ScheduleKind::kConstant:
      break;
    case ScheduleKind::kInverseSquareRoot:
      return 1.0 / std::sqrt(1.0 + u / decay_steps);
    case ScheduleKind::kExponential:
      return std::pow(schedule.decay_rate, u / decay_steps);
    case ScheduleKind::kStep:
      return std::pow(schedule.decay_rate, std::floor(u / decay_steps));
    case ScheduleKind::kCosine: {
      const uint64_t total = schedule.total_steps > 0
                                 ? schedule.total_steps
                                 : epochs * steps_per_epoch;
      if (total <= warmup || t >= total) return schedule.min_factor;
      const double part = u / static_cast<double>(total - warmup);
      return schedule.min_factor +
             (1.0 - schedule.min_factor) *
                 (0.5 * (1.0 + std::cos(std::numbers::pi * part)));
    }
  }
  return 1.0;
}

}  // namespace seraph
