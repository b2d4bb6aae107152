#include "common/concurrent/mutex.h"

#include <thread>
#include <vector>

#include "common/concurrent/notification.h"
#include "common/time/clock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(MutexTest, KeepsThreadsApart) {
  Mutex mu;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        MutexLock lock(&mu);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 40000);
}

TEST(CondVarTest, NotifyOneWakesAWaiter) {
  Mutex mu;
  CondVar changed;
  int turn = 0;
  std::thread other([&] {
    MutexLock lock(&mu);
    while (turn != 1) changed.Wait(&mu);
    turn = 2;
    changed.NotifyOne();
  });
  {
    MutexLock lock(&mu);
    turn = 1;
    changed.NotifyOne();
    while (turn != 2) changed.Wait(&mu);
  }
  other.join();
}

TEST(NotificationTest, EndsAWaitOfAnyLength) {
  for (absl::Duration timeout :
       {absl::InfiniteDuration(), absl::Hours(1'000'000'000), absl::Hours(1)}) {
    Notification happened;
    EXPECT_FALSE(happened.HasBeenNotified());
    std::thread other([&] { happened.Notify(); });
    EXPECT_TRUE(happened.WaitFor(timeout)) << timeout;
    other.join();
    happened.Notify();
    happened.Wait();
    EXPECT_TRUE(happened.HasBeenNotified());
  }
}

TEST(NotificationTest, ATimeoutPassesAndNotBeforeItsTime) {
  Notification never;
  const absl::Duration start = MonotonicClock::Real()->Now();
  EXPECT_FALSE(never.WaitFor(absl::Milliseconds(20)));
  EXPECT_GE(MonotonicClock::Real()->Now() - start, absl::Milliseconds(20));
}

TEST(NotificationTest, ATimeoutThatHasPassedDoesNotWait) {
  Notification never;
  EXPECT_FALSE(never.WaitFor(absl::ZeroDuration()));
  EXPECT_FALSE(never.WaitFor(-absl::InfiniteDuration()));
}

}  // namespace
}  // namespace seraph
