#include "scheduler/replicas/partition_map.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/replicas/obedient_servers.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kNow = absl::Seconds(100);
constexpr absl::Duration kPause = absl::Seconds(10);

const Node kA = MakeServer(1);
const Node kB = MakeServer(2);
const Node kC = MakeServer(3);
const Node kD = MakeServer(4);

PartitionPlacement Place(uint32_t table, uint32_t partition,
                         const std::vector<Node>& nodes) {
  PartitionPlacement placement;
  placement.table = table;
  placement.partition = partition;
  placement.range = {100 * partition, 100 * partition + 99};
  placement.epoch = 1;
  placement.primary = nodes.front();
  placement.backups.assign(nodes.begin() + 1, nodes.end());
  return placement;
}

// "s1: 0/0 lead 2, 0/1 follow 2": one line for each order.
std::vector<std::string> Text(const ReplicaWork& work) {
  std::vector<std::string> lines;
  for (const ReplicaWork::To& to : work.orders) {
    std::string line = absl::StrCat(to.node.name, ":");
    if (const auto* configure = std::get_if<ConfigureReplicas>(&to.body)) {
      for (const ReplicaOrder& piece : configure->replicas) {
        const char* names[] = {"collect", "lead", "follow", "join", "drop"};
        absl::StrAppend(&line, " ", piece.table, "/", piece.partition, " ",
                        names[static_cast<int>(piece.duty)], " ", piece.epoch);
      }
    } else if (const auto* recruit = std::get_if<RecruitReplica>(&to.body)) {
      absl::StrAppend(&line, " recruit ", recruit->recruit.name);
    } else {
      absl::StrAppend(&line, " hand over");
    }
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> MembersOf(const PartitionMap& map, size_t g) {
  std::vector<std::string> names;
  for (const Node& node : map.groups()[g].record().members) {
    names.push_back(node.name);
  }
  return names;
}

class PartitionMapTest : public ::testing::Test {
 protected:
  std::vector<ServerRoom> Rooms() { return servers_.Rooms(map_); }

  void Complain(const Node& from, const std::vector<uint64_t>& silent,
                absl::Duration now = kNow) {
    links_.Report(from.incarnation, silent, now);
    map_.Complain(from.incarnation, silent, links_, now);
  }

  // A leads three partitions with B, one with B and C; B leads one with C.
  PartitionMap map_{{.replicas = 2, .pause_after_complaint = kPause},
                    {Place(0, 0, {kA, kB}), Place(0, 1, {kA, kB}),
                     Place(0, 2, {kB, kC}), Place(1, 0, {kA, kB, kC})}};
  ObedientServers servers_;
  SilentLinks links_{absl::Seconds(10)};
};

TEST_F(PartitionMapTest, BatchesOrdersByServer) {
  map_.LoseNode(kA);
  const ReplicaWork work = map_.TakeWork(nullptr);
  EXPECT_TRUE(work.store);
  EXPECT_TRUE(work.placements_changed);
  EXPECT_FALSE(work.lost);
  EXPECT_THAT(Text(work),
              ElementsAre("s2: 0/0 collect 2 0/1 collect 2 1/0 collect 2",
                          "s3: 1/0 collect 2"));
  EXPECT_TRUE(map_.TakeWork(nullptr).empty());
}

TEST_F(PartitionMapTest, ALaterEpochTakesThePlaceOfAnOrderNotYetTaken) {
  map_.LoseNode(kA);
  map_.LoseNode(kC);
  EXPECT_THAT(Text(map_.TakeWork(nullptr)),
              ElementsAre("s2: 0/0 collect 2 0/1 collect 2 0/2 lead 2 "
                          "1/0 collect 3"));
}

TEST_F(PartitionMapTest, PlacementsTellThePrimaryOrThatThereIsNone) {
  EXPECT_THAT(map_.Placements()[3], Place(1, 0, {kA, kB, kC}));
  const uint64_t before = map_.version();
  map_.LoseNode(kA);
  EXPECT_GT(map_.version(), before);
  const PartitionPlacement placement = map_.Placements()[3];
  EXPECT_EQ(placement.epoch, 2u);
  EXPECT_EQ(placement.primary.name, "");
  EXPECT_THAT(placement.backups, ElementsAre(kB, kC));
  EXPECT_FALSE(map_.AllLed());
}

TEST_F(PartitionMapTest, AllCopiesLostIsSaid) {
  map_.LoseNode(kA);
  EXPECT_FALSE(map_.TakeWork(nullptr).lost);
  map_.LoseNode(kB);
  EXPECT_TRUE(map_.TakeWork(nullptr).lost);
}

TEST_F(PartitionMapTest, CountsForViews) {
  std::map<uint64_t, HeldReplicas> held;
  map_.AddHeld(&held);
  EXPECT_EQ(held[1].primaries, 3u);
  EXPECT_EQ(held[2].primaries, 1u);
  EXPECT_EQ(held[2].backups, 3u);
  EXPECT_EQ(held[3].backups, 2u);
  EXPECT_EQ(map_.LeastInSync(), 2u);
  map_.LoseNode(kC);
  EXPECT_EQ(map_.LeastInSync(), 1u);
  EXPECT_EQ(map_.Degraded(), 1u);
  EXPECT_FALSE(map_.Holds(3));
}

// After a failover the survivors lead about as many partitions each.
TEST_F(PartitionMapTest, AmongEqualsThePrimaryIsTheOneWithFewest) {
  PartitionMap map({.replicas = 3},
                   {Place(0, 0, {kA, kB, kC}), Place(0, 1, {kA, kB, kC}),
                    Place(0, 2, {kA, kB, kC}), Place(0, 3, {kA, kB, kC})});
  servers_.Add(kB);
  servers_.Add(kC);
  map.LoseNode(kA);
  servers_.Obey(&map);
  std::map<uint64_t, HeldReplicas> held;
  map.AddHeld(&held);
  EXPECT_EQ(held[2].primaries, 2u);
  EXPECT_EQ(held[3].primaries, 2u);
}

// Complaints
// --------------------------------------------------------------------

// History 22b: heartbeats reach the scheduler, forwards do not reach B.
TEST_F(PartitionMapTest, ASilentBackupIsLeftOut) {
  Complain(kA, {2});
  EXPECT_THAT(MembersOf(map_, 0), ElementsAre("s1"));
  EXPECT_THAT(MembersOf(map_, 1), ElementsAre("s1"));
  EXPECT_THAT(MembersOf(map_, 2), ElementsAre("s2", "s3"))
      << "there B leads, and nobody complains";
  EXPECT_THAT(MembersOf(map_, 3), ElementsAre("s1", "s3"));
  EXPECT_THAT(
      Text(map_.TakeWork(nullptr)),
      ElementsAre("s1: 0/0 lead 2 0/1 lead 2 1/0 lead 2",
                  "s2: 0/0 drop 2 0/1 drop 2 1/0 drop 2", "s3: 1/0 follow 2"));
}

TEST_F(PartitionMapTest, APrimaryThatComplainsOfAllItsBackupsGoes) {
  Complain(kA, {2, 3});
  EXPECT_TRUE(map_.groups()[3].collecting());
  EXPECT_THAT(MembersOf(map_, 3), ElementsAre("s2", "s3"));
}

TEST_F(PartitionMapTest, APrimaryOfWhichAllBackupsComplainGoes) {
  links_.Report(3, {1}, kNow);
  Complain(kA, {2});
  EXPECT_THAT(MembersOf(map_, 3), ElementsAre("s2", "s3"));
}

// With one backup it is one word against another; who has trouble with more
// others is the likelier one.
TEST_F(PartitionMapTest, OfTwoTheOneWithMoreSilentLinksGoes) {
  links_.Report(3, {1}, kNow);
  Complain(kA, {2});
  EXPECT_THAT(MembersOf(map_, 0), ElementsAre("s2"));
  EXPECT_TRUE(map_.groups()[0].collecting());
}

TEST_F(PartitionMapTest, AComplaintOfSomebodyElseIsNone) {
  Complain(kC, {1, 2});
  Complain(kA, {4, 1});
  EXPECT_TRUE(map_.TakeWork(nullptr).empty());
}

TEST_F(PartitionMapTest, ASilentRecruitIsGivenUp) {
  map_.LoseNode(kC);
  for (const Node& node : {kA, kB, kD}) servers_.Add(node);
  servers_.Obey(&map_);
  map_.Plan(Rooms(), true, kNow);
  ASSERT_TRUE(map_.groups()[2].IsRecruit(4) || map_.groups()[2].IsRecruit(1));
  const uint64_t recruit = map_.groups()[2].record().recruit->incarnation;
  Complain(kB, {recruit});
  EXPECT_FALSE(map_.groups()[2].record().recruit.has_value());
  EXPECT_THAT(MembersOf(map_, 2), ElementsAre("s2"));
}

TEST_F(PartitionMapTest, WhoWasComplainedOfIsNoRecruitForAWhile) {
  PartitionMap map({.replicas = 2, .pause_after_complaint = kPause},
                   {Place(0, 0, {kA, kB})});
  for (const Node& node : {kA, kB}) servers_.Add(node);
  absl::Duration now = kNow;
  const auto comes_back_after = [&](absl::Duration pause) {
    servers_.Obey(&map);
    links_.Report(1, {2}, now);
    map.Complain(1, {2}, links_, now);
    EXPECT_EQ(map.LeastInSync(), 1u);
    servers_.Obey(&map);
    servers_.Settle(&map, now + pause - absl::Seconds(1));
    EXPECT_EQ(map.LeastInSync(), 1u);
    servers_.Settle(&map, now + pause);
    EXPECT_EQ(map.LeastInSync(), 2u);
    now += pause;
  };
  comes_back_after(kPause);
  comes_back_after(2 * kPause);
  comes_back_after(4 * kPause);
  now += 10 * kPause;  // It has behaved for long enough.
  servers_.Settle(&map, now);
  comes_back_after(kPause);
}

// Failures
// ----------------------------------------------------------------------

TEST_F(PartitionMapTest, AServerThatCannotBeOrderedIsLeftOut) {
  map_.LoseNode(kC);
  const ReplicaWork work = map_.TakeWork(nullptr);
  for (const ReplicaWork::To& to : work.orders) {
    if (to.node == kB) {
      map_.FailConfigure(kB, std::get<ConfigureReplicas>(to.body), kNow);
    }
  }
  EXPECT_THAT(MembersOf(map_, 3), ElementsAre("s1"));
  EXPECT_THAT(MembersOf(map_, 0), ElementsAre("s1", "s2"))
      << "the order was not about this one";
}

TEST_F(PartitionMapTest, WhatOthersHaveCanBeDoneWithout) {
  map_.LoseNode(kC);
  const ReplicaWork work = map_.TakeWork(nullptr);
  ASSERT_FALSE(work.orders.empty());
  const auto& order = std::get<ConfigureReplicas>(work.orders.front().body);
  EXPECT_FALSE(map_.CanDoWithout(kC.incarnation, order)) << "it has no duty";
  bool any = false;
  for (const ReplicaWork::To& to : work.orders) {
    const auto& configure = std::get<ConfigureReplicas>(to.body);
    const bool alone = std::any_of(
        configure.replicas.begin(), configure.replicas.end(),
        [](const ReplicaOrder& piece) { return piece.members.size() < 2; });
    EXPECT_EQ(map_.CanDoWithout(to.node.incarnation, configure), !alone);
    any = any || alone;
  }
  EXPECT_TRUE(any);
}

TEST_F(PartitionMapTest, AFailureOfAnOlderEpochIsLate) {
  map_.LoseNode(kC);
  const ReplicaWork work = map_.TakeWork(nullptr);
  map_.LoseNode(kA);
  for (const ReplicaWork::To& to : work.orders) {
    map_.FailConfigure(to.node, std::get<ConfigureReplicas>(to.body), kNow);
  }
  EXPECT_THAT(MembersOf(map_, 3), ElementsAre("s2"));
}

TEST_F(PartitionMapTest, ARecruitThatFailsIsGivenUp) {
  map_.LoseNode(kC);
  for (const Node& node : {kA, kB}) servers_.Add(node);
  servers_.Obey(&map_);
  map_.Plan(Rooms(), true, kNow);
  const std::optional<Node> recruit = map_.groups()[2].record().recruit;
  ASSERT_EQ(recruit, kA);
  map_.FailRecruit({0, 2, 1, *recruit}, kNow);
  EXPECT_TRUE(map_.groups()[2].IsRecruit(1)) << "of another epoch";
  map_.FailRecruit({0, 2, 2, *recruit}, kNow);
  EXPECT_FALSE(map_.groups()[2].IsRecruit(1));
  map_.Plan(Rooms(), true, kNow);
  EXPECT_FALSE(map_.groups()[2].IsRecruit(1)) << "not again at once";
}

// While a cut is under way
// --------------------------------------------------------

TEST_F(PartitionMapTest, NothingIsPlannedWhileEpochsShouldStay) {
  for (const Node& node : {kA, kB, kC, kD}) servers_.Add(node);
  map_.Plan(Rooms(), /*changes_allowed=*/false, kNow);
  EXPECT_TRUE(map_.TakeWork(nullptr).empty());
  map_.LoseNode(kC);
  EXPECT_FALSE(map_.TakeWork(nullptr).empty()) << "losses do not wait";
}

TEST_F(PartitionMapTest, ARecruitThatIsInWaitsForTheCut) {
  map_.LoseNode(kC);
  for (const Node& node : {kA, kB}) servers_.Add(node);
  servers_.Obey(&map_);
  map_.Plan(Rooms(), true, kNow);
  ASSERT_TRUE(map_.groups()[2].IsRecruit(1));
  map_.Plan(Rooms(), false, kNow);
  servers_.Obey(&map_);
  EXPECT_TRUE(map_.groups()[2].IsRecruit(1));
  map_.Plan(Rooms(), true, kNow);
  EXPECT_THAT(MembersOf(map_, 2), ElementsAre("s2", "s1"));
}

// The scheduler starts anew
// -------------------------------------------------------

TEST_F(PartitionMapTest, GoesOnFromItsRecords) {
  map_.LoseNode(kA);
  const ReplicaWork before = map_.TakeWork(nullptr);
  PartitionMap again({.replicas = 2}, map_.Records());
  EXPECT_EQ(again.Records(), map_.Records());
  EXPECT_EQ(again.version(), map_.version());
  again.Resume();
  const ReplicaWork work = again.TakeWork(nullptr);
  EXPECT_FALSE(work.store);
  EXPECT_FALSE(work.placements_changed);
  EXPECT_THAT(Text(work),
              ElementsAre("s2: 0/0 collect 2 0/1 collect 2 0/2 lead 1 "
                          "1/0 collect 2",
                          "s3: 0/2 follow 1 1/0 collect 2"));
  for (const Node& node : {kB, kC, kD}) servers_.Add(node);
  again.Resume();
  servers_.Obey(&again);
  EXPECT_TRUE(again.AllLed());
  EXPECT_GE(servers_.Settle(&again), 0);
  EXPECT_EQ(again.Degraded(), 0u);
}

TEST_F(PartitionMapTest, AServerThatHoldsTooMuchDropsIt) {
  Complain(kA, {2});
  map_.TakeWork(nullptr);
  EXPECT_THAT(map_.FindHeld(kB, 0, 0, 1), IsOk());
  EXPECT_THAT(map_.FindHeld(kB, 0, 2, 1), IsOk());
  EXPECT_THAT(map_.FindHeld(kB, 9, 9, 1), IsOk()) << "no such partition";
  EXPECT_THAT(Text(map_.TakeWork(nullptr)), ElementsAre("s2: 0/0 drop 2"));
}

TEST_F(PartitionMapTest, AServerThatReturnsDropsWhatItIsNoMemberOf) {
  Complain(kA, {2});
  map_.TakeWork(nullptr);
  map_.ReturnServer(kB);
  EXPECT_THAT(Text(map_.TakeWork(nullptr)),
              ElementsAre("s2: 0/0 drop 2 0/1 drop 2 1/0 drop 2"));
}

// History 29d: an old copy of the stored state.
TEST_F(PartitionMapTest, AServerThatHasSeenMoreIsAnError) {
  const auto kOld = StatusIs(absl::StatusCode::kFailedPrecondition,
                             HasSubstr("its state is an old one"));
  EXPECT_THAT(map_.FindHeld(kB, 0, 0, 2), kOld);
  Configured configured;
  configured.incarnation = 2;
  configured.replicas = {{.table = 0, .partition = 0, .epoch = 2}};
  EXPECT_THAT(map_.TakeConfigured(configured), kOld);
  EXPECT_THAT(MembersOf(map_, 0), ElementsAre("s1", "s2"));
}

}  // namespace
}  // namespace seraph
