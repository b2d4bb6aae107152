// A thread that calls a function again and again.
#ifndef SERAPH_COMMON_CONCURRENT_PERIODIC_TASK_H_
#define SERAPH_COMMON_CONCURRENT_PERIODIC_TASK_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"

namespace seraph {

// The first call comes one interval after Start, each later one an interval
// after the end of the one before it; calls never overlap. Waits count on the
// monotonic clock.
//
// Threads: Wake may be called from any thread, also from the task itself.
// Start and Stop belong to the owner's thread.
class PeriodicTask {
 public:
  // interval > 0.
  PeriodicTask(std::string name, absl::Duration interval,
               absl::AnyInvocable<void()> task);

  // Stops.
  ~PeriodicTask();

  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

  // At most once.
  void Start();

  // Waits for a running call; none comes afterwards. May be repeated.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  // Calls now, or once more after the call that runs. Several wakes before
  // that call are one.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mu_);

  const std::string name_;
  const absl::Duration interval_;
  absl::AnyInvocable<void()> task_;  // Of the thread alone.

  Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;

  std::thread thread_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CONCURRENT_PERIODIC_TASK_H_
