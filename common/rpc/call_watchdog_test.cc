#include "common/rpc/call_watchdog.h"

#include <vector>

#include "common/concurrent/notification.h"
#include "common/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::FakeClock;
using ::testing::ElementsAre;

TEST(CallWatchdogTest, CancelsWhatIsOverdueOnceAndInOrder) {
  FakeClock clock;
  CallWatchdog watchdog(&clock);
  std::vector<int> cancelled;
  watchdog.Add(absl::Seconds(3), [&] { cancelled.push_back(3); });
  watchdog.Add(absl::Seconds(1), [&] { cancelled.push_back(1); });
  watchdog.Add(absl::Seconds(2), [&] { cancelled.push_back(2); });

  clock.Advance(absl::Seconds(1) - absl::Nanoseconds(1));
  EXPECT_EQ(watchdog.Check(), 0);
  clock.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(watchdog.Check(), 1);
  clock.Advance(absl::Hours(1));
  EXPECT_EQ(watchdog.Check(), 2);
  EXPECT_EQ(watchdog.Check(), 0);
  EXPECT_THAT(cancelled, ElementsAre(1, 2, 3));
}

TEST(CallWatchdogTest, ACallThatEndedIsLeftAlone) {
  FakeClock clock;
  CallWatchdog watchdog(&clock);
  std::vector<int> cancelled;
  const auto first =
      watchdog.Add(absl::Seconds(1), [&] { cancelled.push_back(1); });
  watchdog.Add(absl::Seconds(1), [&] { cancelled.push_back(2); });
  watchdog.Remove(first);
  watchdog.Remove(first);
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(watchdog.Check(), 1);
  EXPECT_THAT(cancelled, ElementsAre(2));
}

TEST(CallWatchdogTest, AnEndlessCallIsNeverOverdue) {
  FakeClock clock;
  CallWatchdog watchdog(&clock);
  watchdog.Add(absl::InfiniteDuration(), [] { FAIL(); });
  clock.Advance(absl::Hours(24 * 365 * 100));
  EXPECT_EQ(watchdog.Check(), 0);
}

TEST(CallWatchdogTest, CancellingMayStartTheNextCall) {
  FakeClock clock;
  CallWatchdog watchdog(&clock);
  watchdog.Add(absl::Seconds(1),
               [&] { watchdog.Add(absl::ZeroDuration(), [] {}); });
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(watchdog.Check(), 1);
  EXPECT_EQ(watchdog.Check(), 1);
}

TEST(CallWatchdogTest, TheProcessesOwnChecksByItself) {
  Notification cancelled;
  CallWatchdog::Default()->Add(absl::Milliseconds(1),
                               [&] { cancelled.Notify(); });
  cancelled.Wait();
}

}  // namespace
}  // namespace seraph
