// Where time comes from.
//
// Every deadline, lease, timeout and measured duration counts on the monotonic
// clock. The wall clock is for printed timestamps alone: no promise depends on
// it, and it may jump.
#ifndef SERAPH_COMMON_TIME_CLOCK_H_
#define SERAPH_COMMON_TIME_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace seraph {

// Threads: every method may be called from any thread.
class MonotonicClock {
 public:
  virtual ~MonotonicClock() = default;

  // Nanoseconds since an arbitrary start; never goes back. Values of different
  // processes have nothing to do with each other.
  virtual int64_t NowNanos() const = 0;

  absl::Duration Now() const { return absl::Nanoseconds(NowNanos()); }

  // The machine's (CLOCK_MONOTONIC). Never destroyed.
  static const MonotonicClock* Real();
};

// Threads: every method may be called from any thread.
class WallClock {
 public:
  virtual ~WallClock() = default;

  virtual absl::Time Now() const = 0;

  // The machine's. Never destroyed.
  static const WallClock* Real();
};

}  // namespace seraph

#endif  // SERAPH_COMMON_TIME_CLOCK_H_
