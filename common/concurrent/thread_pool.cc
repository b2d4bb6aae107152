#include "common/concurrent/thread_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/concurrent/thread_name.h"

namespace seraph {

ThreadPool::ThreadPool(absl::string_view name, int threads, int nice) {
  threads_.reserve(std::max(threads, 1));
  for (int i = 0; i < std::max(threads, 1); ++i) {
    threads_.emplace_back(
        [this, nice, thread_name = absl::StrCat(name, "-", i)] {
          Run(thread_name, nice);
        });
  }
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
  while (waking_ > 0) std::this_thread::yield();
}

void ThreadPool::Schedule(absl::AnyInvocable<void()> work) {
  ++unfinished_;
  {
    MutexLock lock(&mu_);
    queue_.push_back(std::move(work));
    ++waking_;
  }
  // Without the lock, which the woken thread wants.
  changed_.NotifyOne();
  --waking_;  // From here on the pool may be gone.
}

void ThreadPool::Run(const std::string& name, int nice) {
  NameThisThread(name);
  // Of this thread alone: that is what it means to Linux.
  if (nice > getpriority(PRIO_PROCESS, 0)) setpriority(PRIO_PROCESS, 0, nice);
  while (true) {
    absl::AnyInvocable<void()> work;
    {
      MutexLock lock(&mu_);
      while (queue_.empty() && !stopping_) changed_.Wait(&mu_);
      // What running work still adds, the thread that runs it takes.
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
    work = nullptr;
    --unfinished_;
  }
}

int ThreadsOrCores(int requested) {
  if (requested > 0) return requested;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace seraph
