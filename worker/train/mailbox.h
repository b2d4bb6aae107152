// Messages from many threads to one.
#ifndef SERAPH_WORKER_TRAIN_MAILBOX_H_
#define SERAPH_WORKER_TRAIN_MAILBOX_H_

#include <deque>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"

namespace seraph {

// Threads: Put and Close from any, by whoever keeps it alive meanwhile; Take by
// the owner.
template <typename Message>
class Mailbox {
 public:
  void Put(Message message) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(&mu_);
      messages_.push_back(std::move(message));
    }
    // Without the lock, which the woken thread wants.
    changed_.NotifyOne();
  }

  // Ends all waiting, now and later.
  void Close() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    closed_ = true;
    changed_.NotifyAll();
  }

  bool closed() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return closed_;
  }

  // The next message, if it is there and the box is not closed.
  std::optional<Message> TryTake() ABSL_LOCKS_EXCLUDED(mu_) {
    return Take(absl::ZeroDuration());
  }

  // The next message; nullopt after `timeout` (which may be infinite) without
  // one, by the monotonic clock, or when closed.
  std::optional<Message> Take(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    while (messages_.empty() && !closed_) {
      if (!changed_.WaitFor(&mu_, timeout)) return std::nullopt;
    }
    if (closed_) return std::nullopt;
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

 private:
  mutable Mutex mu_;
  CondVar changed_;
  std::deque<Message> messages_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_MAILBOX_H_
