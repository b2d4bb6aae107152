#include "scheduler/service/epoch_waiters.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EpochWaitersTest : public ::testing::Test {
 protected:
  EpochWaiters::Answer Note(const std::string& who) {
    return [this, who](absl::StatusOr<bool> stop) {
      told_.push_back(who + (!stop.ok() ? " error" : *stop ? " stop" : " go"));
    };
  }

  EpochWaiters waiters_;
  std::vector<std::string> told_;
};

TEST_F(EpochWaitersTest, EachIsToldOnce) {
  const uint64_t a = waiters_.Add(Note("a"));
  const uint64_t b = waiters_.Add(Note("b"));
  waiters_.Tell(b, true);
  waiters_.Tell(a, false);
  waiters_.Tell(a, true);
  EXPECT_THAT(told_, ElementsAre("b stop", "a go"));
}

TEST_F(EpochWaitersTest, WhoHasGoneIsNotTold) {
  const uint64_t a = waiters_.Add(Note("a"));
  waiters_.Remove(a);
  waiters_.Tell(a, true);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(EpochWaitersTest, ClosingTellsAllWhoWaitAndWhoComesLater) {
  waiters_.Add(Note("a"));
  waiters_.Close(absl::UnavailableError("stops"));
  EXPECT_THAT(told_, ElementsAre("a error"));
  waiters_.Add(Note("b"));
  EXPECT_THAT(told_, ElementsAre("a error", "b error"));
}

// An answer may come back to the waiters: no lock is held.
TEST_F(EpochWaitersTest, AnAnswerMayWaitAgain) {
  uint64_t again = 0;
  const uint64_t first = waiters_.Add(
      [&](absl::StatusOr<bool>) { again = waiters_.Add(Note("again")); });
  waiters_.Tell(first, true);
  waiters_.Tell(again, false);
  EXPECT_THAT(told_, ElementsAre("again go"));
}

}  // namespace
}  // namespace seraph
