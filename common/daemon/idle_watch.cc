#include "common/daemon/idle_watch.h"

#include <utility>

namespace seraph {

bool IdleWatch::Tick(absl::Duration now, absl::Duration used) {
  if (!std::exchange(started_, true)) {
    window_begin_ = now;
    used_at_begin_ = used;
  }
  const absl::Duration elapsed = now - window_begin_;
  if (elapsed < window_) return false;
  const bool idle = used - used_at_begin_ < elapsed * share_;
  window_begin_ = now;
  used_at_begin_ = used;
  const bool was_idle = std::exchange(idle_, idle);
  return idle && !was_idle;
}

}  // namespace seraph
