#include "common/time/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace seraph {
namespace {

class SteadyClock final : public MonotonicClock {
 public:
  int64_t NowNanos() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

class SystemClock final : public WallClock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

}  // namespace

const MonotonicClock* MonotonicClock::Real() {
  static const SteadyClock* const clock = new SteadyClock();
  return clock;
}

const WallClock* WallClock::Real() {
  static const SystemClock* const clock = new SystemClock();
  return clock;
}

}  // namespace seraph
