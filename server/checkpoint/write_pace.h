// How fast checkpoints are written beside training.
#ifndef SERAPH_SERVER_CHECKPOINT_WRITE_PACE_H_
#define SERAPH_SERVER_CHECKPOINT_WRITE_PACE_H_

#include <cstdint>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/notification.h"
#include "common/time/clock.h"

namespace seraph {

// A limit to bytes a second, of all writers together, that holds while the
// server has requests to work on: what a checkpoint costs them is then spread
// over a longer time, of which it is a small part. Where nobody else wants the
// processor there is no limit.
//
// Threads: every method may be called from any thread.
class WritePace {
 public:
  // `bytes_per_second` 0: no limit. `is_busy` is asked now and then, from any
  // thread. The clock must outlive this.
  WritePace(uint64_t bytes_per_second, const MonotonicClock* clock,
            std::function<bool()> is_busy);
  ~WritePace() { Stop(); }

  // To be called before so many bytes are written: waits for their turn.
  void Spend(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mu_);

  // Ends all waiting, now and later.
  void Stop() { stopped_.Notify(); }

 private:
  const uint64_t bytes_per_second_;
  const MonotonicClock* const clock_;
  const std::function<bool()> is_busy_;
  Notification stopped_;

  Mutex mu_;
  // When all that was spent is paid for.
  absl::Duration free_at_ ABSL_GUARDED_BY(mu_) = -absl::InfiniteDuration();
  absl::Duration busy_until_ ABSL_GUARDED_BY(mu_) = -absl::InfiniteDuration();
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CHECKPOINT_WRITE_PACE_H_
