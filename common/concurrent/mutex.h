// A mutex and a condition variable that every checker understands.
//
// They wrap the standard ones. Against absl::Mutex that brings two things:
// ThreadSanitizer sees them (the system's Abseil is not instrumented, so that
// everything under an absl::Mutex looks like a race), and timeouts count on the
// monotonic clock (Abseil's end at a time of the wall clock: when that is set
// back by an hour, they take an hour longer). Clang's thread-safety analysis
// works with the ABSL_GUARDED_BY family of annotations as usual.
#ifndef SERAPH_COMMON_CONCURRENT_MUTEX_H_
#define SERAPH_COMMON_CONCURRENT_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace seraph {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex for a scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) {
    mu_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mu_;
};

// Threads: every method may be called from any thread. A wait may end without
// a reason: check what you wait for, and wait again.
class CondVar {
 public:
  void Wait(Mutex* mu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  // Returns false if `timeout` passed without a notification. A timeout of
  // absl::InfiniteDuration() never passes; one <= 0 has passed.
  bool WaitFor(Mutex* mu, absl::Duration timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CONCURRENT_MUTEX_H_
