// Something that happens once, and those who wait for it.
#ifndef SERAPH_COMMON_CONCURRENT_NOTIFICATION_H_
#define SERAPH_COMMON_CONCURRENT_NOTIFICATION_H_

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"

namespace seraph {

// Threads: every method may be called from any thread. It may be destroyed by
// whoever returned from a wait.
class Notification {
 public:
  // May be repeated, which changes nothing.
  void Notify() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    notified_ = true;
    changed_.NotifyAll();
  }

  bool HasBeenNotified() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return notified_;
  }

  void Wait() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    while (!notified_) changed_.Wait(&mu_);
  }

  // Returns whether it happened before `timeout` passed, by the monotonic
  // clock.
  bool WaitFor(absl::Duration timeout) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  mutable CondVar changed_;
  bool notified_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CONCURRENT_NOTIFICATION_H_
