// Ends work that runs on another thread.
#ifndef SERAPH_SCHEDULER_SERVICE_CANCELLATION_H_
#define SERAPH_SCHEDULER_SERVICE_CANCELLATION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/notification.h"

namespace seraph {

// Threads: every method may be called from any thread.
class Cancellation {
 public:
  bool cancelled() const { return cancelled_.HasBeenNotified(); }

  // Cancelled, once somebody has said so.
  absl::Status Check() const {
    return cancelled() ? absl::CancelledError("given up") : absl::OkStatus();
  }

  // Waits; returns early, and false, if it is cancelled.
  bool Sleep(absl::Duration time) const { return !cancelled_.WaitFor(time); }

  // Runs what was left with OnCancel(), each once. May be repeated.
  void Cancel() ABSL_LOCKS_EXCLUDED(mu_) {
    std::map<uint64_t, std::function<void()>> calls;
    {
      MutexLock lock(&mu_);
      cancelled_.Notify();
      calls.swap(calls_);
    }
    for (const auto& [number, call] : calls) call();
  }

  // `call` runs in Cancel(), or at once if that has been; not after Forget()
  // with the number that this returns, unless it runs already. It must be
  // harmless after what it ends has ended by itself.
  uint64_t OnCancel(std::function<void()> call) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(&mu_);
      if (!cancelled_.HasBeenNotified()) {
        calls_.emplace(++last_, std::move(call));
        return last_;
      }
    }
    call();
    return 0;
  }

  void Forget(uint64_t number) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    calls_.erase(number);
  }

 private:
  Notification cancelled_;

  Mutex mu_;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, std::function<void()>> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_CANCELLATION_H_
