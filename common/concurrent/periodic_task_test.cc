#include "common/concurrent/periodic_task.h"

#include <atomic>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(PeriodicTaskTest, CallsAgainAndAgain) {
  constexpr int kCalls = 5;
  absl::BlockingCounter missing(kCalls);
  int calls = 0;
  PeriodicTask task("test", absl::Milliseconds(1), [&] {
    if (++calls <= kCalls) missing.DecrementCount();
  });
  task.Start();
  missing.Wait();
}

TEST(PeriodicTaskTest, AWakeDoesNotWaitForTheInterval) {
  absl::Notification called;
  PeriodicTask task("test", absl::Hours(1), [&] { called.Notify(); });
  task.Start();
  task.Wake();
  called.WaitForNotification();
}

TEST(PeriodicTaskTest, AWakeDuringACallBringsOneMore) {
  absl::Notification second;
  int calls = 0;
  PeriodicTask* self = nullptr;
  PeriodicTask task("test", absl::Hours(1), [&] {
    if (++calls == 1) {
      self->Wake();
      self->Wake();
    } else {
      second.Notify();  // A third call would crash here.
    }
  });
  self = &task;
  task.Start();
  task.Wake();
  second.WaitForNotification();
  task.Stop();
  EXPECT_EQ(calls, 2);
}

TEST(PeriodicTaskTest, StopWaitsForTheCallAndEndsALongWait) {
  absl::Notification entered;
  std::atomic<bool> left = false;
  absl::Notification go_on;
  PeriodicTask task("test", absl::Hours(1), [&] {
    entered.Notify();
    go_on.WaitForNotification();
    left = true;
  });
  task.Start();
  task.Wake();
  entered.WaitForNotification();
  go_on.Notify();
  task.Stop();
  EXPECT_TRUE(left);
  task.Stop();
}

TEST(PeriodicTaskTest, OneThatNeverStartedStops) {
  PeriodicTask task("test", absl::Hours(1), [] { FAIL(); });
  task.Wake();
  task.Stop();
}

}  // namespace
}  // namespace seraph
