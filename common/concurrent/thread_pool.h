// A fixed number of threads that run closures in the order they came.
#ifndef SERAPH_COMMON_CONCURRENT_THREAD_POOL_H_
#define SERAPH_COMMON_CONCURRENT_THREAD_POOL_H_

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "common/concurrent/executor.h"
#include "common/concurrent/mutex.h"

namespace seraph {

// Threads: every method may be called from any thread. The destructor may not
// be called from work of this pool.
class ThreadPool final : public Executor {
 public:
  // `name` appears in debuggers and `top` as "name-0", "name-1" ...; the kernel
  // keeps 15 characters. threads >= 1. They start at once. `nice`, 0 to 19: how
  // far the threads stand back where others want the processor.
  ThreadPool(absl::string_view name, int threads, int nice = 0);

  // Runs all work that was scheduled, also what running adds, then joins.
  ~ThreadPool() override;

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Schedule(absl::AnyInvocable<void()> work) override
      ABSL_LOCKS_EXCLUDED(mu_);

  // Whether there is work that has not ended.
  bool busy() const { return unfinished_ > 0; }

  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  void Run(const std::string& name, int nice) ABSL_LOCKS_EXCLUDED(mu_);

  Mutex mu_;
  CondVar changed_;
  std::deque<absl::AnyInvocable<void()>> queue_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::atomic<int> unfinished_ = 0;
  std::atomic<int> waking_ = 0;  // Calls that still use `changed_`.

  std::vector<std::thread> threads_;  // Last: they use what is above.
};

// `requested`, or one thread per core of the machine if that is 0.
int ThreadsOrCores(int requested);

}  // namespace seraph

#endif  // SERAPH_COMMON_CONCURRENT_THREAD_POOL_H_
