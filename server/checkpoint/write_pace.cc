#include "server/checkpoint/write_pace.h"

#include <algorithm>
#include <utility>

namespace seraph {
namespace {

// Shorter waits are saved up: to be woken costs, too.
constexpr absl::Duration kShortestWait = absl::Milliseconds(2);

// A server that works on requests is idle between them, all the time: for so
// long after it was seen at work it counts as busy.
constexpr absl::Duration kBusyFor = absl::Milliseconds(50);

}  // namespace

WritePace::WritePace(uint64_t bytes_per_second, const MonotonicClock* clock,
                     std::function<bool()> is_busy)
    : bytes_per_second_(bytes_per_second),
      clock_(clock),
      is_busy_(std::move(is_busy)) {}

void WritePace::Spend(uint64_t bytes) {
  if (bytes_per_second_ == 0 || stopped_.HasBeenNotified()) return;
  const bool at_work = is_busy_();
  const absl::Duration now = clock_->Now();
  absl::Duration wait;
  bool busy;
  {
    MutexLock lock(&mu_);
    if (at_work) busy_until_ = now + kBusyFor;
    busy = now < busy_until_;
    free_at_ = std::max(free_at_, now);
    wait = free_at_ - now;
    if (busy) {
      free_at_ += absl::Seconds(static_cast<double>(bytes) /
                                static_cast<double>(bytes_per_second_));
    } else {
      free_at_ = now;
    }
  }
  if (busy && wait >= kShortestWait) stopped_.WaitFor(wait);
}

}  // namespace seraph
