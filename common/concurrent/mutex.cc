#include "common/concurrent/mutex.h"

#include <algorithm>
#include <chrono>

namespace seraph {
namespace {

// Long enough to be for ever, short enough not to overflow the clock's range.
constexpr absl::Duration kForever = absl::Hours(24 * 365);

}  // namespace

void CondVar::Wait(Mutex* mu) {
  std::unique_lock<std::mutex> lock(mu->mutex_, std::adopt_lock);
  condition_.wait(lock);
  lock.release();  // The caller's scope unlocks it.
}

bool CondVar::WaitFor(Mutex* mu, absl::Duration timeout) {
  if (timeout <= absl::ZeroDuration()) return false;
  const std::chrono::nanoseconds wait =
      absl::ToChronoNanoseconds(std::min(timeout, kForever));
  std::unique_lock<std::mutex> lock(mu->mutex_, std::adopt_lock);
  const std::cv_status result =
      condition_.wait_until(lock, std::chrono::steady_clock::now() + wait);
  lock.release();
  return result == std::cv_status::no_timeout || timeout > kForever;
}

}  // namespace seraph
