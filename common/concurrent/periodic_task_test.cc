#include "common/concurrent/periodic_task.h"

#include <atomic>
#include <latch>

#include "common/concurrent/notification.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(PeriodicTaskTest, CallsAgainAndAgain) {
  constexpr int kCalls = 5;
  std::latch missing(kCalls);
  int calls = 0;
  PeriodicTask task("test", absl::Milliseconds(1), [&] {
    if (++calls <= kCalls) missing.count_down();
  });
  task.Start();
  missing.wait();
}

TEST(PeriodicTaskTest, AWakeDoesNotWaitForTheInterval) {
  Notification called;
  PeriodicTask task("test", absl::Hours(1), [&] { called.Notify(); });
  task.Start();
  task.Wake();
  called.Wait();
}

TEST(PeriodicTaskTest, AWakeDuringACallBringsOneMore) {
  Notification second;
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
  second.Wait();
  task.Stop();
  EXPECT_EQ(calls, 2);
}

TEST(PeriodicTaskTest, StopWaitsForTheCallAndEndsALongWait) {
  Notification entered;
  std::atomic<bool> left = false;
  Notification go_on;
  PeriodicTask task("test", absl::Hours(1), [&] {
    entered.Notify();
    go_on.Wait();
    left = true;
  });
  task.Start();
  task.Wake();
  entered.Wait();
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
