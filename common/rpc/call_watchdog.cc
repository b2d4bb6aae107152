#include "common/rpc/call_watchdog.h"

#include <vector>

namespace seraph {
namespace {

constexpr absl::Duration kCheckInterval = absl::Milliseconds(100);

}  // namespace

CallWatchdog::CallWatchdog(const MonotonicClock* clock)
    : clock_(clock),
      task_("call-watchdog", kCheckInterval, [this] { Check(); }) {}

CallWatchdog::~CallWatchdog() = default;

CallWatchdog* CallWatchdog::Default() {
  static CallWatchdog* const watchdog = [] {
    auto* started = new CallWatchdog(MonotonicClock::Real());
    started->Start();
    return started;
  }();
  return watchdog;
}

void CallWatchdog::Start() { task_.Start(); }

CallWatchdog::Watch CallWatchdog::Add(absl::Duration timeout,
                                      absl::AnyInvocable<void()> cancel) {
  const int64_t end =
      absl::ToInt64Nanoseconds(clock_->Now() + timeout);  // Saturates.
  MutexLock lock(&mu_);
  const Watch watch(end, next_number_++);
  watched_.emplace(watch, std::move(cancel));
  return watch;
}

void CallWatchdog::Remove(const Watch& watch) {
  absl::AnyInvocable<void()> removed;  // Freed without the lock.
  MutexLock lock(&mu_);
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return;
  removed = std::move(found->second);
  watched_.erase(found);
}

int CallWatchdog::Check() {
  std::vector<absl::AnyInvocable<void()>> overdue;
  {
    const int64_t now = clock_->NowNanos();
    MutexLock lock(&mu_);
    while (!watched_.empty() && watched_.begin()->first.first <= now) {
      overdue.push_back(std::move(watched_.begin()->second));
      watched_.erase(watched_.begin());
    }
  }
  for (absl::AnyInvocable<void()>& cancel : overdue) cancel();
  return static_cast<int>(overdue.size());
}

}  // namespace seraph
