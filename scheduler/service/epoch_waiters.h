// The ranks that wait at an epoch's end, as calls.
#ifndef SERAPH_SCHEDULER_SERVICE_EPOCH_WAITERS_H_
#define SERAPH_SCHEDULER_SERVICE_EPOCH_WAITERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/concurrent/mutex.h"

namespace seraph {

// Threads: every method may be called from any thread.
class EpochWaiters {
 public:
  // True to stop after the epoch; or why there is no answer.
  using Answer = std::function<void(absl::StatusOr<bool> stop)>;

  // `answer` will be called once: by Tell, or by Close. Returns its number.
  uint64_t Add(Answer answer) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::Status closed;
    {
      MutexLock lock(&mu_);
      if (!closed_.has_value()) {
        waiters_.emplace(++last_, std::move(answer));
        return last_;
      }
      closed = *closed_;
    }
    answer(closed);
    return 0;
  }

  // Who waits no more is passed over.
  void Tell(uint64_t waiter, absl::StatusOr<bool> stop)
      ABSL_LOCKS_EXCLUDED(mu_) {
    Answer answer;
    {
      MutexLock lock(&mu_);
      auto node = waiters_.extract(waiter);
      if (node.empty()) return;
      answer = std::move(node.mapped());
    }
    answer(std::move(stop));
  }

  // Forgets a waiter, without an answer.
  void Remove(uint64_t waiter) ABSL_LOCKS_EXCLUDED(mu_) {
    Answer gone;  // Freed without the lock.
    MutexLock lock(&mu_);
    if (auto node = waiters_.extract(waiter); !node.empty()) {
      gone = std::move(node.mapped());
    }
  }

  // Answers everybody, now and from now on, with `why`.
  void Close(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_) {
    std::map<uint64_t, Answer> waiters;
    {
      MutexLock lock(&mu_);
      closed_ = why;
      waiters.swap(waiters_);
    }
    for (const auto& [number, answer] : waiters) answer(why);
  }

 private:
  Mutex mu_;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Answer> waiters_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_EPOCH_WAITERS_H_
