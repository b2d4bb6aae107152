// A monotonic clock that moves when a test says so.
#ifndef SERAPH_COMMON_TESTING_FAKE_CLOCK_H_
#define SERAPH_COMMON_TESTING_FAKE_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "common/time/clock.h"

namespace seraph::testing {

// Threads: every method may be called from any thread.
class FakeClock final : public MonotonicClock {
 public:
  int64_t NowNanos() const override { return now_nanos_.load(); }

  // `by` >= 0.
  void Advance(absl::Duration by) {
    now_nanos_.fetch_add(absl::ToInt64Nanoseconds(by));
  }

 private:
  // Not 0, so that code that takes 0 for "never" is found out.
  std::atomic<int64_t> now_nanos_{1'000'000'000};
};

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_TESTING_FAKE_CLOCK_H_
