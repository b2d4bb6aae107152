// A condition variable for absl::Mutex whose timeouts count on the monotonic
// clock.
//
// Abseil's own timed waits end at a time of the wall clock: when that is set
// back by an hour, they take an hour longer.
#ifndef SERAPH_COMMON_CONCURRENT_MONOTONIC_COND_VAR_H_
#define SERAPH_COMMON_CONCURRENT_MONOTONIC_COND_VAR_H_

#include <condition_variable>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace seraph {

// Threads: every method may be called from any thread. As with any condition
// variable a wait may end without a reason: check and wait again.
class MonotonicCondVar {
 public:
  void Wait(absl::Mutex* mu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  // Returns false if `timeout` passed without a notification. A timeout of
  // absl::InfiniteDuration() never passes; one <= 0 has passed.
  bool WaitFor(absl::Mutex* mu, absl::Duration timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CONCURRENT_MONOTONIC_COND_VAR_H_
