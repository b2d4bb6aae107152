#include "client/base/interrupt.h"

#include <utility>

#include "common/time/clock.h"

namespace seraph {

void Interrupt::Trigger() {
  MutexLock callbacks_lock(&callbacks_mu_);
  {
    MutexLock lock(&mu_);
    ++times_;
    changed_.NotifyAll();
  }
  for (auto& [number, callback] : callbacks_) callback();
}

int Interrupt::times() const {
  MutexLock lock(&mu_);
  return times_;
}

absl::Status Interrupt::Check() const {
  return requested() ? absl::CancelledError("interrupted") : absl::OkStatus();
}

std::unique_ptr<Interrupt::Subscription> Interrupt::Subscribe(
    absl::AnyInvocable<void()> callback) {
  MutexLock callbacks_lock(&callbacks_mu_);
  if (requested()) callback();
  const uint64_t number = next_number_++;
  callbacks_.emplace(number, std::move(callback));
  return std::make_unique<Subscription>(this, number);
}

bool Interrupt::WaitFor(absl::Duration timeout, int times) const {
  const MonotonicClock& clock = *MonotonicClock::Real();
  const absl::Duration end = clock.Now() + timeout;
  MutexLock lock(&mu_);
  while (times_ <= times) {
    const absl::Duration left = end - clock.Now();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(&mu_, left);
  }
  return true;
}

void Interrupt::Unsubscribe(uint64_t number) {
  MutexLock lock(&callbacks_mu_);
  callbacks_.erase(number);
}

}  // namespace seraph
