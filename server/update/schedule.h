// The learning rate over time.
#ifndef SERAPH_SERVER_UPDATE_SCHEDULE_H_
#define SERAPH_SERVER_UPDATE_SCHEDULE_H_

#include <cstdint>

#include "common/base/clock.h"
#include "common/table/table_spec.h"

namespace seraph {

// The factor in [0, 1] that the learning rate has at an entry's clock; eta is
// learning_rate times it.
//
// With t = epoch * steps_per_epoch + step, W = warmup_steps, D = decay_steps
// (0: steps_per_epoch), T = total_steps (0: epochs * steps_per_epoch):
//
//   t < W          (t + 1) / W
//   otherwise, with u = t - W
//   constant       1
//   inverse sqrt   1 / sqrt(1 + u / D)
//   exponential    decay_rate ^ (u / D)
//   step           decay_rate ^ floor(u / D)
//   cosine         m + (1 - m) (1 + cos(pi min(1, u / (T - W)))) / 2,
//                  m = min_factor; m itself when T <= W
//
// steps_per_epoch: the most clocks of any rank in an epoch, without the entry
// that ends it; 0 counts as 1. Requires: ValidateSchedule(schedule) is OK.
double ScheduleFactor(const ScheduleSpec& schedule, Clock clock,
                      uint64_t steps_per_epoch, uint64_t epochs);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_SCHEDULE_H_
