// asp and ssp: what a pull may show, and leases. docs/fault-tolerance.md
#include <variant>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/replica_harness.h"

namespace seraph {
namespace {

using ::seraph::testing::OptionsFor;
using ::seraph::testing::ReplicaSet;

constexpr absl::Duration kLease = ReplicaSet::kLease;

ReplicaSet Members(SyncMode mode, uint32_t ranks, int servers) {
  std::set<int> all;
  for (int s = 0; s < servers; ++s) all.insert(s);
  ReplicaSet set(OptionsFor(mode, ranks), servers, all);
  set.Epoch(1, 0, all);
  for (uint32_t rank = 0; rank < ranks; ++rank) set.Begin(0, rank);
  set.Flow();
  set.Pass(kLease / 2);
  return set;
}

// A applies p and answers a pull with p in it before B has p, and dies: the
// next pull, at B, would go back in time.
TEST(PullTest, LeavesWhenAllThatItShowsIsConfirmed) {
  for (SyncMode mode : {SyncMode::kSsp, SyncMode::kAsp}) {
    ReplicaSet r = Members(mode, 2, 2);
    const Ticket before = r.PullNow(0);
    EXPECT_TRUE(r.Acked(before));
    r.Push(0, 0, {0, 0});
    const Ticket pull = r.Pull(0, 1, {0, 0});
    const Ticket own = r.Pull(0, 0, {0, 1});
    EXPECT_TRUE(r.Waits(pull));
    EXPECT_TRUE(r.Waits(own));
    r.Flow();
    EXPECT_EQ(r.Value(pull), 1);
    EXPECT_EQ(r.Of(pull).position, 3);
    if (mode == SyncMode::kAsp) {
      EXPECT_EQ(r.Value(own), 1);
    } else {
      EXPECT_TRUE(r.Waits(own)) << "the other rank is behind";
    }
  }
}

TEST(PullTest, OfBspNeedsNoConfirmation) {
  ReplicaSet r = Members(SyncMode::kBsp, 1, 2);
  r.cut_links = {{0, 1}};
  const Ticket push = r.Push(0, 0, {0, 0});
  r.Flow();
  EXPECT_EQ(r.Value(r.Pull(0, 0, {0, 1})), 1);
  EXPECT_TRUE(r.Waits(push));
}

// A is stopped; B is promoted and acknowledges a push; A wakes and is asked.
TEST(LeaseTest, ADeposedPrimaryAnswersNoPull) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 2);
  EXPECT_TRUE(r.Acked(r.PullNow(0)));
  r.stopped = {0};
  r.Epoch(2, -1, {1});
  r.Epoch(3, 1, {1});
  const Ticket push = r.Push(1, 0, {0, 0});
  r.Pass(2 * kLease);
  ASSERT_TRUE(r.Acked(push));
  r.stopped = {};
  const Ticket pull = r.PullNow(0);
  EXPECT_TRUE(r.Waits(pull));
  r.Pass(2 * kLease);
  EXPECT_TRUE(r.Waits(pull)) << "nobody confirms its pings";
  r.Configure(0, 3, ReplicaDuty::kDrop, 1, {1});
  EXPECT_EQ(r.Code(pull), PartCode::kStaleEpoch);
}

TEST(LeaseTest, IsOfEveryMember) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 3);
  r.cut_links = {{0, 2}};
  r.Pass(kLease * 1.2);
  const Ticket pull = r.PullNow(0);
  EXPECT_TRUE(r.Waits(pull)) << "server 2 may have been promoted";
  r.cut_links = {};
  r.Pass(kLease / 2);
  EXPECT_TRUE(r.Acked(pull));
}

TEST(LeaseTest, CountsFromTheSending) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 2);
  const Ticket pull = r.PullNow(0);
  ASSERT_TRUE(r.Acked(pull));
  const absl::Duration end = r.Of(pull).valid_until;
  EXPECT_GT(end, r.now());
  EXPECT_LE(end, r.now() + kLease);
  // Its confirmations are under way for a whole lease: worth nothing.
  std::vector<PeerMessage> under_way;
  r.filter = [&](const PeerMessage& message) {
    if (!std::holds_alternative<ConfirmRecords>(message.body)) return true;
    under_way.push_back(message);
    return false;
  };
  r.Pass(kLease / 2);
  ASSERT_FALSE(under_way.empty());
  r.stopped = {0, 1};
  r.Pass(1.1 * kLease);
  r.stopped = {};
  r.filter = nullptr;
  for (const PeerMessage& message : under_way) r.Deliver(message);
  EXPECT_TRUE(r.Waits(r.PullNow(0)));
}

// Whoever sends the answer was stopped after the rows were read.
TEST(LeaseTest, AnAnswerThatLeavesTooLateIsNone) {
  std::vector<Answer> answers(2);
  answers[0].values = {1};
  answers[0].valid_until = absl::Seconds(10);
  answers[1].values = {2};
  ExpireAnswers(absl::Seconds(10), absl::MakeSpan(answers));
  EXPECT_EQ(answers[0].outcome.code, PartCode::kRetryAfter);
  EXPECT_TRUE(answers[0].values.empty());
  EXPECT_EQ(answers[1].outcome.code, PartCode::kOk);
}

// B confirms A's ping and is promoted; A's lease still runs.
TEST(LeaseTest, ANewPrimaryIsQuietUntilTheOldLeaseIsOver) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 2);
  r.Pass(kLease / 2);
  ASSERT_TRUE(r.Acked(r.PullNow(0)));
  r.Epoch(2, -1, {1});
  r.Epoch(3, 1, {1});
  const Ticket push = r.Push(1, 0, {0, 0});
  const Ticket pull = r.PullNow(1);
  r.stopped = {0};
  r.Pass(0.9 * kLease);
  EXPECT_TRUE(r.Waits(push));
  EXPECT_TRUE(r.Waits(pull));
  r.Pass(0.3 * kLease);
  EXPECT_TRUE(r.Acked(push));
  EXPECT_EQ(r.Value(pull), 1);
}

TEST(LeaseTest, BspAndSspAreNotQuiet) {
  for (SyncMode mode : {SyncMode::kBsp, SyncMode::kSsp}) {
    ReplicaSet r = Members(mode, 1, 2);
    r.Epoch(2, -1, {1});
    r.Epoch(3, 1, {1});
    EXPECT_TRUE(r.Acked(r.Push(1, 0, {0, 0})));
  }
}

// A recruit that A waits for holds A's lease too: it may be a member already,
// and the primary of a later epoch, before A hears of it.
TEST(LeaseTest, IsOfARecruitToo) {
  ReplicaSet r(OptionsFor(SyncMode::kAsp, 1), 3, {0, 1});
  r.Epoch(1, 0, {0, 1});
  r.Flow();
  r.Epoch(2, 0, {0, 1});
  r.Configure(2, 2, ReplicaDuty::kJoin, 0, {0, 1});
  const Ticket recruit = r.Recruit(0, 2);
  r.Flow();
  r.Pass(kLease / 2);
  ASSERT_FALSE(r.Waits(recruit));
  ASSERT_TRUE(r.Acked(r.PullNow(0)));
  r.cut_links = {{0, 2}, {2, 0}};
  r.Pass(1.2 * kLease);
  EXPECT_TRUE(r.Waits(r.PullNow(0))) << "server 1 confirms, 2 does not";
}

TEST(LeaseTest, WhoIsAloneNeedsNone) {
  ReplicaSet r(OptionsFor(SyncMode::kAsp, 1), 1, {0});
  r.Epoch(1, 0, {0});
  r.Begin(0, 0);
  EXPECT_TRUE(r.Acked(r.Push(0, 0, {0, 0})));
  EXPECT_TRUE(r.Acked(r.PullNow(0)));
  EXPECT_TRUE(r.messages.empty());
  EXPECT_EQ(r.Of(r.PullNow(0)).valid_until, absl::InfiniteDuration());
}

}  // namespace
}  // namespace seraph
