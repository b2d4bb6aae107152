// Histories of a primary and its backups: what is acknowledged when, and what a
// promotion finds. docs/fault-tolerance.md
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/replica_harness.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::OptionsFor;
using ::seraph::testing::ReplicaSet;
using ::testing::IsEmpty;

constexpr absl::Duration kLease = ReplicaSet::kLease;

// Servers 0, 1, ... are members of epoch 1, 0 leads, the ranks have begun.
ReplicaSet Members(SyncMode mode, uint32_t ranks, int servers,
                   ReplicaSetup replica = {}) {
  std::set<int> all;
  for (int s = 0; s < servers; ++s) all.insert(s);
  ReplicaSet set(OptionsFor(mode, ranks), servers, all, replica);
  set.Epoch(1, 0, all);
  for (uint32_t rank = 0; rank < ranks; ++rank) set.Begin(0, rank);
  set.Flow();
  return set;
}

TEST(AcknowledgementTest, APushIsAcknowledgedWhenEveryMemberHasIt) {
  for (SyncMode mode : {SyncMode::kBsp, SyncMode::kSsp, SyncMode::kAsp}) {
    ReplicaSet r = Members(mode, 1, 3);
    r.cut_links = {{0, 2}};
    const Ticket push = r.Push(0, 0, {0, 0});
    r.Flow();
    EXPECT_EQ(r.at(1).state().records(), 2);
    EXPECT_TRUE(r.Waits(push)) << "server 2 has nothing of it";
    r.cut_links = {};
    r.Pass(kLease / 2);  // It is sent again.
    EXPECT_TRUE(r.Acked(push));
    for (int server : {1, 2}) {
      EXPECT_EQ(r.SnapshotOf(server), r.SnapshotOf(0));
    }
  }
}

// The forward is slow; the worker's stream breaks, it resends, forgets the push
// when it is acknowledged, and the primary dies.
TEST(AcknowledgementTest, ARepeatIsAcknowledgedNoEarlierThanItsOriginal) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 2);
  const Ticket original = r.Push(0, 0, {0, 0});
  const Ticket repeat = r.Push(0, 0, {0, 0});
  EXPECT_TRUE(r.Waits(original));
  EXPECT_TRUE(r.Waits(repeat));
  r.Flow();
  EXPECT_TRUE(r.Acked(original));
  EXPECT_TRUE(r.Acked(repeat));
  EXPECT_EQ(r.ValueAt(1), 1);
}

TEST(AcknowledgementTest, ChunksAreAcknowledgedWithTheirEntry) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 2);
  const auto chunk = [&](uint32_t number, Key key) {
    PushMessage message;
    message.rank = RankName{0, 1};
    message.chunk = number;
    message.chunks = 2;
    message.keys = {key};
    message.values = {1};
    return r.Push(0, message);
  };
  const Ticket first = chunk(0, 5);
  r.Flow();
  EXPECT_TRUE(r.Waits(first));
  const Ticket second = chunk(1, 6);
  EXPECT_TRUE(r.Waits(first));
  EXPECT_TRUE(r.Waits(second));
  r.Flow();
  EXPECT_TRUE(r.Acked(first));
  EXPECT_TRUE(r.Acked(second));
}

TEST(AcknowledgementTest, AnAttemptHasBegunWhenEveryMemberRefusesOlderOnes) {
  ReplicaSet r = Members(SyncMode::kBsp, 1, 2);
  const Ticket begun = r.Begin(0, 0, 2);
  EXPECT_TRUE(r.Waits(begun));
  const Ticket again = r.Begin(0, 0, 2);
  EXPECT_TRUE(r.Waits(again));
  r.Flow();
  EXPECT_THAT(r.DoneOf(begun).status, IsOk());
  EXPECT_EQ(r.DoneOf(begun).progress.attempt, 2);
  EXPECT_THAT(r.DoneOf(again).status, IsOk());
  EXPECT_EQ(r.at(1).state().rank(0).attempt, 2);
  // A new primary has heard of it, too.
  r.Epoch(2, -1, {1});
  r.Epoch(3, 1, {1});
  EXPECT_EQ(r.Code(r.Push(1, 0, {0, 0}, 1, /*attempt=*/1)),
            PartCode::kStaleAttempt);
}

TEST(AcknowledgementTest, APrimaryWithTooFewMembersAcknowledgesNothing) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 2, {.min_in_sync = 2});
  EXPECT_EQ(r.at(0).state().records(), 1);
  r.Epoch(2, 0, {0});
  const Ticket push = r.Push(0, 0, {0, 0});
  const Ticket pull = r.PullNow(0);
  r.Pass(2 * kLease);
  EXPECT_TRUE(r.Waits(push));
  EXPECT_TRUE(r.Waits(pull));
  r.Configure(1, 3, ReplicaDuty::kJoin, 0, {0});
  r.Configure(0, 3, ReplicaDuty::kLead, 0, {0});
  const Ticket recruit = r.Recruit(0, 1);
  r.Flow();
  EXPECT_THAT(r.DoneOf(recruit).status, IsOk());
  EXPECT_TRUE(r.Waits(push)) << "a recruit is no member yet";
  r.Epoch(4, 0, {0, 1});
  r.Flow();
  r.Pass(kLease / 5);
  EXPECT_TRUE(r.Acked(push));
  EXPECT_TRUE(r.Acked(pull));
}

// The primary cuts its in-sync set by itself, acknowledges alone, and the
// scheduler promotes the other one.
TEST(InSyncTest, APrimaryThatIsCutOffAcknowledgesNothingAndComplains) {
  ReplicaSet r = Members(SyncMode::kBsp, 1, 2);
  r.cut_links = {{0, 1}, {1, 0}};
  const Ticket push = r.Push(0, 0, {0, 0});
  r.Pass(kLease * 0.9);
  EXPECT_THAT(r.at(0).Complaints(r.now()), IsEmpty());
  r.Pass(kLease);
  EXPECT_TRUE(r.Waits(push));
  ASSERT_EQ(r.at(0).Complaints(r.now()).size(), 1);
  EXPECT_EQ(r.at(0).Complaints(r.now())[0], r.node(1));
  // The scheduler decides against the primary; its client hears of that.
  r.Epoch(2, -1, {1});
  r.Epoch(3, 1, {1});
  r.Configure(0, 3, ReplicaDuty::kDrop, 1, {1});
  EXPECT_EQ(r.Code(push), PartCode::kStaleEpoch);
  EXPECT_EQ(r.Code(r.Push(1, 0, {0, 0})), PartCode::kOk);
}

// One way alone: heartbeats of both arrive at the scheduler, forwards do not.
TEST(InSyncTest, AForwardWithoutConfirmationIsComplainedOf) {
  ReplicaSet r = Members(SyncMode::kBsp, 1, 2);
  r.filter = [](const PeerMessage& message) {
    return !std::holds_alternative<ForwardRecord>(message.body);
  };
  r.Push(0, 0, {0, 0});
  r.Pass(1.5 * kLease);
  EXPECT_EQ(r.at(0).Complaints(r.now()).size(), 1) << "pings are answered";
}

TEST(InSyncTest, WhoWasAsleepItselfComplainsOfNobody) {
  ReplicaSet r = Members(SyncMode::kBsp, 1, 2);
  r.Push(0, 0, {0, 0});
  r.messages.clear();
  r.stopped = {0};
  r.Pass(3 * kLease);
  r.stopped = {};
  r.Tick(0);
  EXPECT_THAT(r.at(0).Complaints(r.now()), IsEmpty());
  r.Flow();
  r.Pass(kLease);
  EXPECT_EQ(r.at(1).state().records(), 2);
}

TEST(FailoverTest, TheNewPrimaryHasAllThatWasAcknowledged) {
  for (SyncMode mode : {SyncMode::kBsp, SyncMode::kSsp, SyncMode::kAsp}) {
    ReplicaSet r = Members(mode, 2, 3);
    r.Push(0, 0, {0, 0}, 1);
    const Ticket acked = r.Push(0, 1, {0, 0}, 10);
    r.Flow();
    EXPECT_TRUE(r.Acked(acked));
    // One more reaches server 2 alone.
    r.cut_links = {{0, 1}};
    r.Push(0, 0, {0, 1}, 100);
    r.Flow();
    r.stopped = {0};
    r.Epoch(2, -1, {1, 2});
    EXPECT_LT(r.at(1).State().last, r.at(2).State().last);
    r.Epoch(3, 2, {1, 2});
    r.Pass(2 * kLease);
    EXPECT_EQ(r.SnapshotOf(1), r.SnapshotOf(2)) << "it is sent what it lacks";
    // The client sends both again; each counts once.
    const Ticket again = r.Push(2, 1, {0, 0}, 10);
    const Ticket last = r.Push(2, 0, {0, 1}, 100);
    r.Flow();
    EXPECT_TRUE(r.Acked(again));
    EXPECT_TRUE(r.Acked(last));
    EXPECT_EQ(r.ValueAt(2), mode == SyncMode::kBsp ? 11 : 111);
    EXPECT_EQ(r.SnapshotOf(1), r.SnapshotOf(2));
  }
}

TEST(FailoverTest, UnderBspTheNewPrimaryStepsWithWhatWasParked) {
  ReplicaSet r = Members(SyncMode::kBsp, 2, 2);
  r.Push(0, 0, {0, 0}, 1);
  r.Flow();
  r.Epoch(2, -1, {1});
  r.Epoch(3, 1, {1});
  EXPECT_EQ(r.Code(r.Push(1, 1, {0, 0}, 10)), PartCode::kOk);
  EXPECT_EQ(r.ValueAt(1), 11);
  // Clock 0 can be read again there.
  EXPECT_EQ(r.Value(r.Pull(1, 0, {0, 0})), 0);
}

// A, deposed while it was stopped, wakes: nobody confirms to it.
TEST(FailoverTest, ADeposedPrimaryAcknowledgesNothing) {
  ReplicaSet r = Members(SyncMode::kSsp, 1, 3);
  r.Epoch(2, -1, {1, 2});
  r.Epoch(3, 1, {1, 2});
  r.Flow();
  const Ticket push = r.Push(0, 0, {0, 0});
  r.Pass(kLease);
  EXPECT_TRUE(r.Waits(push));
  EXPECT_EQ(r.at(1).state().records(), 1);
  EXPECT_EQ(r.at(2).state().records(), 1);
}

// A member that hears of a higher epoch is deaf to the old primary, even before
// its own order comes.
TEST(FailoverTest, WhoHeardOfAHigherEpochConfirmsNothingToTheOldPrimary) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 3);
  r.Epoch(2, -1, {1});
  r.Epoch(3, 1, {1, 2});  // Server 2 follows ...
  r.messages.clear();
  r.Configure(0, 3, ReplicaDuty::kDrop, 1, {1, 2});
  ReplicaSet late = Members(SyncMode::kAsp, 1, 3);
  late.Configure(1, 2, ReplicaDuty::kCollect, -1, {1, 2});
  late.Configure(1, 3, ReplicaDuty::kLead, 1, {1, 2});
  late.Flow();  // ... and here it has only heard the new primary ask.
  const Ticket push = late.Push(0, 0, {0, 0});
  late.Flow();
  EXPECT_TRUE(late.Waits(push));
  EXPECT_EQ(late.at(2).state().records(), 1);
}

// A planned move: the primary stays a member, and pushes that nobody confirmed
// yet are neither lost nor taken twice.
TEST(FailoverTest, AFormerPrimaryFollows) {
  ReplicaSet r = Members(SyncMode::kSsp, 1, 2);
  const Ticket push = r.Push(0, 0, {0, 0});
  r.messages.clear();
  r.Epoch(2, -1, {0, 1});
  EXPECT_EQ(r.Code(push), PartCode::kStaleEpoch);
  EXPECT_GT(r.at(0).State().last, r.at(1).State().last);
  r.Epoch(3, 0, {0, 1});  // The longest one, whoever it was.
  r.Flow();
  r.Pass(kLease / 2);
  const Ticket again = r.Push(0, 0, {0, 0});
  EXPECT_TRUE(r.Acked(again));
  EXPECT_EQ(r.ValueAt(0), 1);
  EXPECT_EQ(r.ValueAt(1), 1);
  r.Epoch(4, -1, {0, 1});
  r.Epoch(5, 1, {0, 1});
  r.Pass(kLease);
  const Ticket next = r.Push(1, 0, {0, 1});
  r.Flow();
  EXPECT_TRUE(r.Acked(next));
  EXPECT_EQ(r.SnapshotOf(0), r.SnapshotOf(1));
}

TEST(OrdersTest, AnOlderEpochIsRefusedAndAnEqualOneChangesNothing) {
  ReplicaSet r = Members(SyncMode::kBsp, 1, 2);
  r.Configure(1, 3, ReplicaDuty::kCollect, -1, {0, 1});
  for (uint64_t epoch : {1, 2, 3}) {
    const ReplicaState state =
        r.Configure(1, epoch, ReplicaDuty::kDrop, -1, {0});
    EXPECT_EQ(state.epoch, 3);
    EXPECT_EQ(state.duty, ReplicaDuty::kCollect);
    EXPECT_TRUE(r.at(1).holds());
  }
}

TEST(OrdersTest, WhoHoldsNothingCanNeitherLeadNorFollow) {
  ReplicaSet r(OptionsFor(SyncMode::kBsp, 1), 2, {0});
  EXPECT_EQ(r.Configure(1, 2, ReplicaDuty::kLead, 1, {1}).duty,
            ReplicaDuty::kDrop);
  EXPECT_EQ(r.Configure(1, 3, ReplicaDuty::kFollow, 0, {0, 1}).duty,
            ReplicaDuty::kDrop);
  EXPECT_EQ(r.Configure(1, 4, ReplicaDuty::kJoin, 0, {0}).duty,
            ReplicaDuty::kJoin);
}

// An entry that reaches server 2 alone, a promotion that did not ask it, and
// another entry in its place: it cannot undo its own.
TEST(DivergentTest, KeepsItsLogConfirmsNothingAndIsReported) {
  ReplicaSet r = Members(SyncMode::kSsp, 1, 3);
  r.cut_links = {{0, 1}};
  r.Push(0, 0, {0, 0}, 1);
  r.Flow();
  r.Epoch(3, 1, {1, 2});
  r.Flow();
  const Ticket push = r.Push(1, 0, {0, 0}, 10);
  r.Pass(kLease / 2);
  EXPECT_TRUE(r.Waits(push));
  EXPECT_TRUE(r.at(2).State().divergent);
  EXPECT_EQ(r.at(2).State().last, (LogPosition{1, 2}));
  EXPECT_EQ(r.ValueAt(2), 1);
  ASSERT_EQ(r.at(1).Complaints(r.now()).size(), 1);
  EXPECT_EQ(r.at(1).Complaints(r.now())[0], r.node(2));
  // Only an order throws its log away.
  r.Configure(2, 4, ReplicaDuty::kJoin, 1, {1});
  EXPECT_FALSE(r.at(2).holds());
  r.Configure(1, 4, ReplicaDuty::kLead, 1, {1});
  EXPECT_TRUE(r.Acked(push));
  const Ticket recruit = r.Recruit(1, 2);
  r.Flow();
  EXPECT_THAT(r.DoneOf(recruit).status, IsOk());
  EXPECT_EQ(r.SnapshotOf(1), r.SnapshotOf(2));
}

TEST(MessagesTest, AreForOneEpochAndTwoIncarnations) {
  ReplicaSet r = Members(SyncMode::kBsp, 1, 2);
  const Ticket push = r.Push(0, 0, {0, 0});
  ASSERT_EQ(r.messages.size(), 1);
  const PeerMessage forward = r.messages.front();
  r.messages.clear();
  PeerMessage other = forward;
  other.epoch = 0;
  r.Deliver(other);
  other = forward;
  other.from = r.node(1).incarnation;  // Not the primary.
  r.Deliver(other);
  other = forward;
  other.to = r.node(0).incarnation;
  r.Deliver(other);
  other = forward;
  other.partition = 1;
  r.Deliver(other);
  EXPECT_EQ(r.at(1).state().records(), 1);
  r.Deliver(forward);
  EXPECT_EQ(r.at(1).state().records(), 2);
  ASSERT_EQ(r.messages.size(), 1);
  const PeerMessage confirm = r.messages.front();
  r.messages.clear();
  other = confirm;
  other.epoch = 0;
  r.Deliver(other);
  other = confirm;
  other.from = 4711;
  r.Do(0, [&](Partition& p, Effects* effects) {
    p.OnPeerMessage(other, r.now(), effects);
  });
  EXPECT_TRUE(r.Waits(push));
  r.Deliver(confirm);
  EXPECT_TRUE(r.Acked(push));
}

// A confirmation of the epoch before, that was under way for long.
TEST(MessagesTest, AConfirmationCountsOnlyForItsEpoch) {
  ReplicaSet r = Members(SyncMode::kBsp, 2, 2);
  const Ticket push = r.Push(0, 0, {0, 0});
  std::deque<PeerMessage> forwards = std::exchange(r.messages, {});
  r.Deliver(forwards.front());
  const PeerMessage confirm = r.messages.front();
  r.messages.clear();
  // Server 1 is left out, and its answer arrives.
  r.Configure(0, 2, ReplicaDuty::kLead, 0, {0, 1});
  r.messages.clear();
  r.Deliver(confirm);
  EXPECT_TRUE(r.Waits(push));
  r.Configure(1, 2, ReplicaDuty::kFollow, 0, {0, 1});
  r.Flow();
  EXPECT_TRUE(r.Acked(push));
}

TEST(MessagesTest, LostAndReorderedForwardsAreSentAgain) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 2);
  std::vector<Ticket> pushes;
  for (uint32_t step = 0; step < 20; ++step) {
    pushes.push_back(r.Push(0, 0, {0, step}));
  }
  std::reverse(r.messages.begin(), r.messages.end());
  r.messages.pop_back();
  r.Flow();
  r.Pass(kLease);
  for (Ticket push : pushes) EXPECT_TRUE(r.Acked(push));
  EXPECT_EQ(r.ValueAt(1), 20);
  EXPECT_EQ(r.SnapshotOf(0), r.SnapshotOf(1));
}

TEST(MessagesTest, ABrokenLinkIsAskedAcross) {
  ReplicaSet r = Members(SyncMode::kBsp, 1, 2);
  const Ticket push = r.Push(0, 0, {0, 0});
  r.messages.clear();
  r.Do(0, [&](Partition& p, Effects* effects) {
    p.OnLinkBroken(r.node(1).incarnation, r.now(), effects);
  });
  r.Flow();
  EXPECT_TRUE(r.Acked(push)) << "without waiting for a tick";
}

TEST(MessagesTest, NoMoreIsUnderWayThanTheWindow) {
  ReplicaSet r =
      Members(SyncMode::kAsp, 1, 2, {.window_bytes = 4 * sizeof(LogRecord)});
  for (uint32_t step = 0; step < 20; ++step) r.Push(0, 0, {0, step});
  EXPECT_LE(r.messages.size(), 4);
  r.Flow();
  EXPECT_EQ(r.ValueAt(1), 20);
}

TEST(MessagesTest, RecordsThatAllHaveAreForgotten) {
  ReplicaSet r = Members(SyncMode::kAsp, 1, 2);
  r.Push(0, 0, {0, 0});
  r.Flow();
  const size_t bytes = r.at(0).bytes();
  for (uint32_t step = 1; step < 100; ++step) r.Push(0, 0, {0, step});
  EXPECT_GT(r.at(0).bytes(), bytes + 90 * sizeof(LogRecord));
  r.Flow();
  r.Pass(kLease / 2);  // A ping tells the commit number.
  EXPECT_LT(r.at(0).bytes(), bytes + 10 * sizeof(LogRecord));
  EXPECT_LT(r.at(1).bytes(), bytes + 10 * sizeof(LogRecord));
  EXPECT_EQ(r.at(1).commit(), 101);
}

}  // namespace
}  // namespace seraph
