#include "client/base/interrupt.h"

#include <thread>

#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(InterruptTest, RunsTheCallbacksThatAreSubscribed) {
  Interrupt interrupt;
  int one = 0, two = 0;
  const auto first = interrupt.Subscribe([&] { ++one; });
  auto second = interrupt.Subscribe([&] { ++two; });
  EXPECT_FALSE(interrupt.requested());
  EXPECT_TRUE(interrupt.Check().ok());
  interrupt.Trigger();
  EXPECT_TRUE(interrupt.requested());
  EXPECT_EQ(interrupt.Check().code(), absl::StatusCode::kCancelled);
  second.reset();
  interrupt.Trigger();
  EXPECT_EQ(interrupt.times(), 2);
  EXPECT_EQ(one, 2);
  EXPECT_EQ(two, 1);
}

TEST(InterruptTest, TellsWhoSubscribesTooLateAtOnce) {
  Interrupt interrupt;
  interrupt.Trigger();
  int calls = 0;
  const auto subscription = interrupt.Subscribe([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(InterruptTest, EndsAWait) {
  Interrupt interrupt;
  EXPECT_FALSE(interrupt.WaitFor(absl::ZeroDuration()));
  std::thread thread([&] { interrupt.Trigger(); });
  EXPECT_TRUE(interrupt.WaitFor(absl::InfiniteDuration()));
  thread.join();
  EXPECT_TRUE(interrupt.WaitFor(absl::ZeroDuration()));
  EXPECT_FALSE(interrupt.WaitFor(absl::ZeroDuration(), /*times=*/1));
}

}  // namespace
}  // namespace seraph
