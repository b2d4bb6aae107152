#include "common/rpc/scheduler_channel.h"

#include <string>

#include "common/status/errors.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

const absl::Status kSilent = absl::UnavailableError("no connection");

absl::Status NotLeader(const std::string& leader) {
  return WithReason(absl::UnavailableError("another one leads"), "NOT_LEADER",
                    {{"leader", leader}});
}

TEST(SchedulerChannelTest, AllAddressesAreTriedInTurnThenComesAPause) {
  SchedulerChannel scheduler("10.0.0.1:1, 10.0.0.2:2,10.0.0.3:3");
  EXPECT_EQ(scheduler.Get().address, "10.0.0.1:1");
  EXPECT_TRUE(scheduler.Report(scheduler.Get(), kSilent));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.2:2");
  EXPECT_TRUE(scheduler.Report(scheduler.Get(),
                               absl::DeadlineExceededError("no answer")));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.3:3");
  EXPECT_FALSE(scheduler.Report(scheduler.Get(), kSilent));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.1:1");
}

TEST(SchedulerChannelTest, AnAnswerOfAnyKindStays) {
  SchedulerChannel scheduler("10.0.0.1:1,10.0.0.2:2");
  EXPECT_TRUE(scheduler.Report(scheduler.Get(), kSilent));
  EXPECT_FALSE(scheduler.Report(scheduler.Get(), absl::OkStatus()));
  EXPECT_FALSE(scheduler.Report(scheduler.Get(), absl::NotFoundError("who?")));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.2:2");
  // Counted anew.
  EXPECT_TRUE(scheduler.Report(scheduler.Get(), kSilent));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.1:1");
}

TEST(SchedulerChannelTest, OneAddressAloneStays) {
  SchedulerChannel scheduler("10.0.0.1:1");
  EXPECT_FALSE(scheduler.Report(scheduler.Get(), kSilent));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.1:1");
}

TEST(SchedulerChannelTest, OfManyCallsToOneTargetTheFirstMovesOn) {
  SchedulerChannel scheduler("10.0.0.1:1,10.0.0.2:2,10.0.0.3:3");
  const SchedulerChannel::Target target = scheduler.Get();
  EXPECT_TRUE(scheduler.Report(target, kSilent));
  EXPECT_TRUE(scheduler.Report(target, kSilent));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.2:2");
}

TEST(SchedulerChannelTest, ALeaderThatIsNamedComesNext) {
  SchedulerChannel scheduler("10.0.0.1:1,10.0.0.2:2,10.0.0.3:3");
  EXPECT_TRUE(scheduler.Report(scheduler.Get(), NotLeader("10.0.0.3:3")));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.3:3");
  // One that is none of ours is not called: it may go by another name there.
  EXPECT_TRUE(scheduler.Report(scheduler.Get(), NotLeader("10.0.0.9:9")));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.1:1");
  // Two that send us to each other do not keep us busy.
  EXPECT_FALSE(scheduler.Report(scheduler.Get(), NotLeader("10.0.0.2:2")));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.2:2");
  EXPECT_FALSE(scheduler.Report(scheduler.Get(), NotLeader("10.0.0.1:1")));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.1:1");
}

TEST(SchedulerChannelTest, OneThatNamesItselfIsNotCalledAgain) {
  SchedulerChannel scheduler("10.0.0.1:1,10.0.0.2:2");
  EXPECT_TRUE(scheduler.Report(scheduler.Get(), NotLeader("10.0.0.1:1")));
  EXPECT_EQ(scheduler.Get().address, "10.0.0.2:2");
}

}  // namespace
}  // namespace seraph
