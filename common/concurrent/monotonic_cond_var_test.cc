#include "common/concurrent/monotonic_cond_var.h"

#include <thread>

#include "common/time/clock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

class Flag {
 public:
  void Set() {
    absl::MutexLock lock(&mu_);
    set_ = true;
    changed_.NotifyAll();
  }

  // Returns whether it was set before `timeout` passed.
  bool WaitFor(absl::Duration timeout) {
    absl::MutexLock lock(&mu_);
    while (!set_) {
      if (!changed_.WaitFor(&mu_, timeout)) return set_;
    }
    return true;
  }

  void Wait() {
    absl::MutexLock lock(&mu_);
    while (!set_) changed_.Wait(&mu_);
  }

 private:
  absl::Mutex mu_;
  MonotonicCondVar changed_;
  bool set_ ABSL_GUARDED_BY(mu_) = false;
};

TEST(MonotonicCondVarTest, ANotificationEndsAWaitOfAnyLength) {
  for (absl::Duration timeout :
       {absl::InfiniteDuration(), absl::Hours(1'000'000'000), absl::Hours(1)}) {
    Flag flag;
    std::thread setter([&] { flag.Set(); });
    EXPECT_TRUE(flag.WaitFor(timeout)) << timeout;
    setter.join();
  }
  Flag flag;
  std::thread setter([&] { flag.Set(); });
  flag.Wait();
  setter.join();
}

TEST(MonotonicCondVarTest, ATimeoutPassesAndNotBeforeItsTime) {
  Flag flag;
  const absl::Duration start = MonotonicClock::Real()->Now();
  EXPECT_FALSE(flag.WaitFor(absl::Milliseconds(20)));
  EXPECT_GE(MonotonicClock::Real()->Now() - start, absl::Milliseconds(20));
}

TEST(MonotonicCondVarTest, ATimeoutThatHasPassedDoesNotWait) {
  Flag flag;
  EXPECT_FALSE(flag.WaitFor(absl::ZeroDuration()));
  EXPECT_FALSE(flag.WaitFor(-absl::InfiniteDuration()));
}

}  // namespace
}  // namespace seraph
