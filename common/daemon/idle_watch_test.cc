#include "common/daemon/idle_watch.h"

#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(20);

// A process and its watch: windows of two seconds, idle below a twentieth.
class Process {
 public:
  // Uses `share` of a processor for `time`. Returns after how long the watch
  // said that it is at rest, each time.
  std::vector<absl::Duration> Run(absl::Duration time, double share) {
    std::vector<absl::Duration> rests;
    for (absl::Duration ran; ran < time; ran += kTick) {
      if (watch_.Tick(now_, used_)) rests.push_back(ran);
      now_ += kTick;
      used_ += kTick * share;
    }
    return rests;
  }

 private:
  IdleWatch watch_{absl::Seconds(2), 0.05};
  absl::Duration now_ = absl::Hours(77);  // Of any beginning.
  absl::Duration used_ = absl::Seconds(5);
};

TEST(IdleWatchTest, SaysItOnceForEachRestAndSoon) {
  Process process;
  EXPECT_TRUE(process.Run(absl::Seconds(7), 1.5).empty());
  for (int i = 0; i < 3; ++i) {
    const std::vector<absl::Duration> rests =
        process.Run(absl::Minutes(1), 0.01);
    ASSERT_EQ(rests.size(), 1u);
    EXPECT_GE(rests[0], absl::Seconds(2) - kTick);
    EXPECT_LE(rests[0], absl::Seconds(4) + kTick);
    EXPECT_TRUE(process.Run(absl::Seconds(3), 0.5).empty());
  }
}

TEST(IdleWatchTest, SaysNothingOfAProcessThatHasDoneNothing) {
  Process process;
  EXPECT_TRUE(process.Run(absl::Minutes(1), 0.0).empty());
}

TEST(IdleWatchTest, AShortPauseIsNoRest) {
  Process process;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(process.Run(absl::Seconds(1), 1.0).empty());
    EXPECT_TRUE(process.Run(absl::Milliseconds(1800), 0.0).empty());
  }
}

TEST(IdleWatchTest, WorkThatNeverStopsIsNoRestHoweverLittle) {
  Process process;
  EXPECT_TRUE(process.Run(absl::Seconds(5), 1.0).empty());
  EXPECT_TRUE(process.Run(absl::Minutes(1), 0.06).empty());
}

// Ticks may be late.
TEST(IdleWatchTest, CountsTheTimeThatHasPassed) {
  IdleWatch watch(absl::Seconds(2), 0.05);
  EXPECT_FALSE(watch.Tick(absl::Seconds(0), absl::Seconds(0)));
  EXPECT_FALSE(watch.Tick(absl::Seconds(10), absl::Seconds(1)));
  EXPECT_TRUE(watch.Tick(absl::Seconds(20), absl::Milliseconds(1400)));
  EXPECT_FALSE(watch.Tick(absl::Seconds(30), absl::Milliseconds(1400)));
}

}  // namespace
}  // namespace seraph
