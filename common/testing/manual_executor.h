// An executor whose work runs when a test says so, on the test's thread.
#ifndef SERAPH_COMMON_TESTING_MANUAL_EXECUTOR_H_
#define SERAPH_COMMON_TESTING_MANUAL_EXECUTOR_H_

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "common/concurrent/executor.h"
#include "common/concurrent/mutex.h"

namespace seraph::testing {

// Threads: every method may be called from any thread.
class ManualExecutor final : public Executor {
 public:
  void Schedule(absl::AnyInvocable<void()> work) override {
    MutexLock lock(&mu_);
    queue_.push_back(std::move(work));
  }

  // Runs the oldest piece of work. Returns false when there is none.
  bool RunOne() {
    absl::AnyInvocable<void()> work;
    {
      MutexLock lock(&mu_);
      if (queue_.empty()) return false;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
    return true;
  }

  // Runs until nothing is left, also what running adds. Returns how many ran.
  int RunAll() {
    int count = 0;
    while (RunOne()) ++count;
    return count;
  }

 private:
  Mutex mu_;
  std::deque<absl::AnyInvocable<void()>> queue_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_TESTING_MANUAL_EXECUTOR_H_
