#include "common/time/clock.h"

#include "absl/time/clock.h"
#include "common/testing/fake_clock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::FakeClock;

TEST(MonotonicClockTest, TheRealOneNeverGoesBackAndMoves) {
  const MonotonicClock* clock = MonotonicClock::Real();
  const int64_t start = clock->NowNanos();
  int64_t last = start;
  while (last == start) {
    const int64_t now = clock->NowNanos();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(last, start);
}

TEST(WallClockTest, TheRealOneLiesBetweenTwoReadingsOfTheSystem) {
  const absl::Time before = absl::Now();
  const absl::Time now = WallClock::Real()->Now();
  // A step of the machine's clock in between would fail this; none is made.
  EXPECT_GE(now, before);
  EXPECT_LE(now, absl::Now());
}

TEST(FakeClockTest, MovesOnlyWhenTold) {
  FakeClock clock;
  const absl::Duration start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(absl::Milliseconds(1500));
  EXPECT_EQ(clock.Now() - start, absl::Milliseconds(1500));
  EXPECT_EQ(clock.NowNanos(), absl::ToInt64Nanoseconds(clock.Now()));
}

}  // namespace
}  // namespace seraph
