// The long-lived streams of a server, so that it can end them.
#ifndef SERAPH_SERVER_SERVICE_OPEN_STREAMS_H_
#define SERAPH_SERVER_SERVICE_OPEN_STREAMS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "common/concurrent/mutex.h"

namespace seraph {

// Threads: every method may be called from any thread.
class OpenStreams {
 public:
  using Number = uint64_t;

  // `end` is called once, without a lock held, when all streams are to end; at
  // once if that was said before. It may come while Remove is called.
  Number Add(absl::AnyInvocable<void()> end) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(&mu_);
      if (!ended_) {
        ends_.emplace(++last_, std::move(end));
        return last_;
      }
    }
    end();
    return 0;
  }

  // The stream has ended.
  void Remove(Number number) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    ends_.erase(number);
  }

  // Ends all streams, and those that come later.
  void EndAll() ABSL_LOCKS_EXCLUDED(mu_) {
    std::map<Number, absl::AnyInvocable<void()>> ends;
    {
      MutexLock lock(&mu_);
      ended_ = true;
      ends.swap(ends_);
    }
    for (auto& [number, end] : ends) end();
  }

 private:
  Mutex mu_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  Number last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Number, absl::AnyInvocable<void()>> ends_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_OPEN_STREAMS_H_
