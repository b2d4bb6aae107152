// Cancels calls that outlive their time by the monotonic clock.
//
// gRPC 1.51 waits for its deadlines by the wall clock. When that is set back by
// an hour, a call whose peer is silent ends an hour late. This is the second
// line: it counts on the monotonic clock alone and cancels what gRPC forgot.
#ifndef SERAPH_COMMON_RPC_CALL_WATCHDOG_H_
#define SERAPH_COMMON_RPC_CALL_WATCHDOG_H_

#include <cstdint>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/periodic_task.h"
#include "common/time/clock.h"

namespace seraph {

// Threads: every method may be called from any thread, but Start belongs to the
// owner. A test drives Check() with a clock of its own and does not Start().
class CallWatchdog {
 public:
  // Names a call that is watched.
  using Watch = std::pair<int64_t, uint64_t>;  // When it ends (ns), number.

  // `clock` must outlive this.
  explicit CallWatchdog(const MonotonicClock* clock);
  ~CallWatchdog();

  // The process's own: started, never destroyed.
  static CallWatchdog* Default();

  // Calls Check every 100 ms from now on.
  void Start();

  // Runs `cancel` once if the call is not removed within `timeout`, from Check.
  // It must be harmless for a call that has ended.
  Watch Add(absl::Duration timeout, absl::AnyInvocable<void()> cancel)
      ABSL_LOCKS_EXCLUDED(mu_);

  // The call ended. Its `cancel` may be running on another thread still.
  void Remove(const Watch& watch) ABSL_LOCKS_EXCLUDED(mu_);

  // Cancels what is overdue; returns how many.
  int Check() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const MonotonicClock* const clock_;

  Mutex mu_;
  uint64_t next_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Watch, absl::AnyInvocable<void()>> watched_ ABSL_GUARDED_BY(mu_);

  PeriodicTask task_;  // Last: it uses what is above.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_CALL_WATCHDOG_H_
