#include "server/checkpoint/write_pace.h"

#include <atomic>
#include <thread>

#include "common/testing/fake_clock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

constexpr uint64_t kRate = 1000;  // Bytes a second.

// Real waits, of some milliseconds; the clock that decides about them is a fake
// one, which the test moves.
class WritePaceTest : public ::testing::Test {
 protected:
  // How long Spend waits, in milliseconds of real time, rounded down.
  int64_t Spend(uint64_t bytes) {
    const absl::Duration begun = MonotonicClock::Real()->Now();
    pace_.Spend(bytes);
    return (MonotonicClock::Real()->Now() - begun) / absl::Milliseconds(1);
  }

  testing::FakeClock clock_;
  std::atomic<bool> busy_ = true;
  WritePace pace_{kRate, &clock_, [this] { return busy_.load(); }};
};

TEST_F(WritePaceTest, WhatComesNextWaitsUntilTheLastIsPaidFor) {
  Spend(20);
  EXPECT_GE(Spend(30), 20);  // The clock stands still: it owes all of it.
  clock_.Advance(absl::Milliseconds(40));
  EXPECT_GE(Spend(1), 10);
}

TEST_F(WritePaceTest, TimeThatPassedIsNotSavedUp) {
  Spend(10);
  clock_.Advance(absl::Seconds(1000));
  Spend(25);
  EXPECT_GE(Spend(1), 25);
}

// A moment between two requests forgives nothing.
TEST_F(WritePaceTest, MomentsWithoutRequestsChangeNothing) {
  Spend(100);
  busy_ = false;
  clock_.Advance(absl::Milliseconds(40));
  EXPECT_GE(Spend(30), 60);
  EXPECT_GE(Spend(1), 90);
  clock_.Advance(absl::Milliseconds(20));
  Spend(kRate * 3600);  // Now it is no moment any more.
  Spend(1);
}

TEST_F(WritePaceTest, WithoutRequestsThereIsNoLimit) {
  busy_ = false;
  Spend(kRate * 3600);
  busy_ = true;
  // Nor is anything of it owed later: it would be an hour.
  Spend(1);
  Spend(1);
}

TEST_F(WritePaceTest, StopEndsAllWaiting) {
  Spend(kRate * 3600);
  std::thread waiting([this] { pace_.Spend(1); });
  pace_.Stop();
  waiting.join();
  pace_.Spend(1);
}

TEST(WritePaceWithoutLimitTest, NothingWaits) {
  testing::FakeClock clock;
  WritePace pace(0, &clock, [] { return true; });
  pace.Spend(uint64_t{1} << 62);
  pace.Spend(1);
}

}  // namespace
}  // namespace seraph
