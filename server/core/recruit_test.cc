// Recruits, hand-overs, and what they may not do. docs/fault-tolerance.md
#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/replica_harness.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::OptionsFor;
using ::seraph::testing::ReplicaSet;
using ::seraph::testing::StatusIs;
using ::testing::IsEmpty;

constexpr absl::Duration kLease = ReplicaSet::kLease;

// Server 0 leads alone in epoch 1 with some rows; server 1 joins in epoch 2.
ReplicaSet Joining(SyncMode mode = SyncMode::kBsp, ReplicaSetup replica = {}) {
  ReplicaSet r(OptionsFor(mode, 2), 3, {0}, replica);
  r.Epoch(1, 0, {0});
  r.Begin(0, 0);
  r.Begin(0, 1);
  r.Push(0, 0, {0, 0}, 1);
  r.Push(0, 1, {0, 0}, 10);
  r.Push(0, 0, {0, 1}, 100);  // bsp: it waits for rank 1's.
  r.Configure(1, 2, ReplicaDuty::kJoin, 0, {0});
  r.Epoch(2, 0, {0});
  return r;
}

TEST(RecruitTest, HoldsWhatTheLogDetermines) {
  for (SyncMode mode : {SyncMode::kBsp, SyncMode::kSsp, SyncMode::kAsp}) {
    ReplicaSet r = Joining(mode, {.piece_bytes = 64});
    const Ticket recruit = r.Recruit(0, 1);
    EXPECT_TRUE(r.Waits(recruit));
    r.Flow();
    ASSERT_FALSE(r.Waits(recruit));
    EXPECT_THAT(r.DoneOf(recruit).status, IsOk());
    EXPECT_EQ(r.SnapshotOf(0), r.SnapshotOf(1));
    // And goes on as the primary does.
    const Ticket push = r.Push(0, 1, {0, 1}, 1000);
    EXPECT_TRUE(r.Waits(push)) << "it is waited for";
    r.Flow();
    EXPECT_TRUE(r.Acked(push));
    EXPECT_EQ(r.SnapshotOf(0), r.SnapshotOf(1));
    EXPECT_EQ(r.ValueAt(1), 1111);
    // A repeat of the order is only confirmed.
    EXPECT_THAT(r.DoneOf(r.Recruit(0, 1)).status, IsOk());
  }
}

TEST(RecruitTest, IsAMemberOfTheNextEpoch) {
  ReplicaSet r = Joining();
  r.Recruit(0, 1);
  r.Flow();
  r.Epoch(3, 0, {0, 1});
  r.Push(0, 1, {0, 1}, 1000);
  r.Flow();
  r.Epoch(4, -1, {1});
  r.Epoch(5, 1, {1});
  EXPECT_EQ(r.ValueAt(1), 1111);
  EXPECT_EQ(r.Code(r.Push(1, 1, {0, 1}, 1000)), PartCode::kOk) << "a repeat";
}

TEST(RecruitTest, IsNotWaitedForBeforeAllIsOnItsWay) {
  ReplicaSet r = Joining(SyncMode::kSsp, {.window_bytes = 1});
  r.Recruit(0, 1);
  r.cut_links = {{0, 1}};
  r.Flow();
  EXPECT_TRUE(r.Acked(r.Push(0, 1, {0, 1}, 1000)));
  EXPECT_TRUE(r.Acked(r.Push(0, 1, {0, 2}, 1000)));
  EXPECT_EQ(r.at(0).awaited(), 0);
  r.cut_links = {};
  r.Pass(kLease);
  EXPECT_EQ(r.at(0).awaited(), 1);
  EXPECT_EQ(r.SnapshotOf(0), r.SnapshotOf(1));
}

// Pushes come faster than it takes them: it would never catch up.
TEST(RecruitTest, ThatIsSlowIsWaitedForInTheEnd) {
  ReplicaSet r = Joining(SyncMode::kSsp, {.window_bytes = 1});
  const Ticket recruit = r.Recruit(0, 1);
  uint32_t step = 0;
  std::vector<Ticket> pushes;
  for (int round = 0; round < 150; ++round) {
    // Two pushes for each record that arrives, as long as they are answered.
    for (int i = 0; i < 2; ++i) {
      if (pushes.empty() || r.Acked(pushes.back())) {
        pushes.push_back(r.Push(0, 1, {0, ++step}));
      }
    }
    for (size_t left = r.messages.size(); left > 0; --left) {
      const PeerMessage message = r.messages.front();
      r.messages.pop_front();
      r.Deliver(message);
    }
    r.Advance(kLease / 10);
  }
  EXPECT_FALSE(r.Waits(recruit));
  EXPECT_TRUE(r.Acked(pushes.front()));
  EXPECT_GT(pushes.size(), 20);
}

// Until it has what may have been acknowledged without it, it is not reported.
TEST(RecruitTest, IsReportedWhenItHasAllOfTheMomentTheWaitingBegan) {
  ReplicaSet r = Joining(SyncMode::kSsp);
  const Ticket recruit = r.Recruit(0, 1);
  const Ticket alone = r.Push(0, 1, {0, 1});
  EXPECT_TRUE(r.Acked(alone));
  // It gets its snapshot, with that push, but its confirmation is held up.
  std::deque<PeerMessage> held;
  r.filter = [&](const PeerMessage& message) {
    if (!std::holds_alternative<ConfirmRecords>(message.body)) return true;
    held.push_back(message);
    return false;
  };
  r.Flow();
  EXPECT_EQ(r.at(1).state().records(), 6);
  EXPECT_TRUE(r.Waits(recruit));
  r.filter = nullptr;
  r.Deliver(held.front());
  EXPECT_FALSE(r.Waits(recruit));
}

// The others must have what a recruit was given as a snapshot before it may be
// promoted: it has no records of that for them.
TEST(RecruitTest, IsReportedWhenTheOthersHaveItsSnapshot) {
  ReplicaSet r(OptionsFor(SyncMode::kSsp, 1), 3, {0, 1});
  r.Epoch(1, 0, {0, 1});
  r.Begin(0, 0);
  r.Flow();
  r.Epoch(2, 0, {0, 1});
  r.Configure(2, 2, ReplicaDuty::kJoin, 0, {0, 1});
  r.Flow();
  r.cut_links = {{0, 1}};
  r.Push(0, 0, {0, 0});
  const Ticket recruit = r.Recruit(0, 2);
  r.Flow();
  EXPECT_EQ(r.at(2).state().records(), 2);
  EXPECT_TRUE(r.Waits(recruit));
  r.cut_links = {};
  r.Pass(kLease / 2);
  EXPECT_FALSE(r.Waits(recruit));
  // Now it can bring the other one up to date.
  r.cut_links = {{0, 1}};
  r.Push(0, 0, {0, 1});
  r.Flow();
  r.Epoch(3, 0, {0, 1, 2});
  r.Flow();
  r.Epoch(4, -1, {1, 2});
  r.Epoch(5, 2, {1, 2});
  r.Pass(kLease);
  EXPECT_EQ(r.SnapshotOf(1), r.SnapshotOf(2));
  EXPECT_THAT(r.at(2).Complaints(r.now()), IsEmpty());
}

// A waits for the recruit, which dies: it waits until the scheduler has left it
// out, and only that ends it.
TEST(RecruitTest, ThatDiesIsWaitedForUntilTheNextEpoch) {
  ReplicaSet r = Joining(SyncMode::kSsp);
  r.Recruit(0, 1);
  r.Flow();
  r.Restart(1);
  const Ticket push = r.Push(0, 1, {0, 1});
  r.Pass(2 * kLease);
  EXPECT_TRUE(r.Waits(push));
  ASSERT_EQ(r.at(0).Complaints(r.now()).size(), 1);
  r.Epoch(3, 0, {0});
  EXPECT_TRUE(r.Acked(push));
}

TEST(RecruitTest, AnOrderEndsWithItsEpoch) {
  ReplicaSet r = Joining();
  const Ticket recruit = r.Recruit(0, 1);
  r.messages.clear();
  r.Epoch(3, 0, {0});
  EXPECT_THAT(r.DoneOf(recruit).status, StatusIs(absl::StatusCode::kAborted));
  const Ticket late =
      r.Order(0, [&](Partition& p, Ticket ticket, Effects* effects) {
        p.Recruit(2, r.node(1), ticket, r.now(), effects);
      });
  EXPECT_THAT(r.DoneOf(late).status, StatusIs(absl::StatusCode::kAborted));
  const Ticket elsewhere =
      r.Order(1, [&](Partition& p, Ticket ticket, Effects* effects) {
        p.Recruit(2, r.node(1), ticket, r.now(), effects);
      });
  EXPECT_THAT(r.DoneOf(elsewhere).status, StatusIs(absl::StatusCode::kAborted));
}

TEST(RecruitTest, LostPiecesAreSentAgain) {
  ReplicaSet r = Joining(SyncMode::kBsp, {.piece_bytes = 64});
  const Ticket recruit = r.Recruit(0, 1);
  uint64_t pieces = 0;
  r.filter = [&](const PeerMessage& message) {
    return !std::holds_alternative<SnapshotPiece>(message.body) ||
           ToBelow(Draw(1, {pieces++}), 3) != 0;
  };
  r.Pass(30 * kLease);
  ASSERT_FALSE(r.Waits(recruit));
  EXPECT_GT(pieces, 3);
  EXPECT_EQ(r.SnapshotOf(0), r.SnapshotOf(1));
}

// A snapshot of epoch 2 that was under way for long arrives when the recruit
// has confirmed more, when it holds nothing any more, and in another epoch.
TEST(RecruitTest, ALateSnapshotIsNotTaken) {
  ReplicaSet r = Joining(SyncMode::kSsp);
  std::vector<PeerMessage> pieces;
  r.filter = [&](const PeerMessage& message) {
    if (std::holds_alternative<SnapshotPiece>(message.body)) {
      pieces.push_back(message);
    }
    return true;
  };
  r.Recruit(0, 1);
  r.Flow();
  const Ticket push = r.Push(0, 1, {0, 1});
  r.Flow();
  ASSERT_TRUE(r.Acked(push));
  ASSERT_FALSE(pieces.empty());
  r.filter = nullptr;
  for (const PeerMessage& piece : pieces) r.Deliver(piece);
  EXPECT_EQ(r.at(1).state().records(), 6) << "it was not set back";
  r.Configure(1, 4, ReplicaDuty::kDrop, 0, {0});
  for (const PeerMessage& piece : pieces) r.Deliver(piece);
  EXPECT_FALSE(r.at(1).holds());
  r.Configure(1, 5, ReplicaDuty::kJoin, 0, {0});
  for (const PeerMessage& piece : pieces) r.Deliver(piece);
  EXPECT_FALSE(r.at(1).holds());
  // Nor does the order of the epoch that is over make it a primary.
  EXPECT_EQ(r.Configure(1, 3, ReplicaDuty::kLead, 1, {1}).duty,
            ReplicaDuty::kJoin);
}

TEST(HandOverTest, HoldsNewPushesUntilAllIsConfirmed) {
  ReplicaSet r = Joining(SyncMode::kSsp);
  r.Recruit(0, 1);
  r.Flow();
  r.Epoch(3, 0, {0, 1});
  r.Flow();
  const Ticket before = r.Push(0, 1, {0, 1});
  const Ticket order = r.HandOver(0);
  const Ticket held = r.Push(0, 1, {0, 2});
  const Ticket ahead = r.Push(0, 1, {0, 3});
  EXPECT_TRUE(r.Waits(order));
  r.Flow();
  EXPECT_TRUE(r.Acked(before));
  EXPECT_TRUE(r.Waits(held));
  EXPECT_TRUE(r.Waits(ahead));
  EXPECT_THAT(r.DoneOf(order).status, IsOk());
  EXPECT_EQ(r.DoneOf(order).last, r.at(1).State().last);
  EXPECT_THAT(r.DoneOf(r.HandOver(0)).status, IsOk()) << "a repeat";
  r.Epoch(4, -1, {0, 1});
  EXPECT_EQ(r.Code(held), PartCode::kStaleEpoch);
  EXPECT_EQ(r.at(0).State().last, r.at(1).State().last);
  r.Epoch(5, 1, {0, 1});
  r.Flow();
  const Ticket again = r.Push(1, 1, {0, 2});
  r.Flow();
  EXPECT_TRUE(r.Acked(again));
}

TEST(HandOverTest, ThatTakesLongerThanALeaseIsVoid) {
  ReplicaSet r = Joining(SyncMode::kSsp);
  r.Recruit(0, 1);
  r.Flow();
  r.Epoch(3, 0, {0, 1});
  r.Flow();
  r.cut_links = {{0, 1}};
  r.Push(0, 1, {0, 1});
  const Ticket order = r.HandOver(0);
  const Ticket held = r.Push(0, 1, {0, 2});
  r.Pass(1.2 * kLease);
  EXPECT_THAT(r.DoneOf(order).status, StatusIs(absl::StatusCode::kAborted));
  r.cut_links = {};
  r.Pass(kLease);
  EXPECT_TRUE(r.Acked(held)) << "pushes go on";
}

}  // namespace
}  // namespace seraph
