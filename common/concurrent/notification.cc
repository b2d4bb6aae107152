#include "common/concurrent/notification.h"

#include "common/time/clock.h"

namespace seraph {

bool Notification::WaitFor(absl::Duration timeout) const {
  const MonotonicClock* clock = MonotonicClock::Real();
  const absl::Duration end = clock->Now() + timeout;
  MutexLock lock(&mu_);
  while (!notified_) {
    if (!changed_.WaitFor(&mu_, end - clock->Now())) return notified_;
  }
  return true;
}

}  // namespace seraph
