#include "common/concurrent/monotonic_cond_var.h"

#include <algorithm>
#include <chrono>

namespace seraph {
namespace {

// Long enough to be for ever, short enough not to overflow the clock's range.
constexpr absl::Duration kForever = absl::Hours(24 * 365);

// What the standard library asks of a lock.
class MutexAdapter {
 public:
  explicit MutexAdapter(absl::Mutex* mu) : mu_(mu) {}
  void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_->Lock(); }
  void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_->Unlock(); }

 private:
  absl::Mutex* const mu_;
};

}  // namespace

void MonotonicCondVar::Wait(absl::Mutex* mu) {
  MutexAdapter adapter(mu);
  condition_.wait(adapter);
}

bool MonotonicCondVar::WaitFor(absl::Mutex* mu, absl::Duration timeout) {
  MutexAdapter adapter(mu);
  if (timeout <= absl::ZeroDuration()) return false;
  const std::chrono::nanoseconds wait =
      absl::ToChronoNanoseconds(std::min(timeout, kForever));
  const auto result =
      condition_.wait_until(adapter, std::chrono::steady_clock::now() + wait);
  return result == std::cv_status::no_timeout || timeout > kForever;
}

}  // namespace seraph
