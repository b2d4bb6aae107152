#include "scheduler/replicas/partition_group.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Node Server(uint64_t incarnation) {
  Node node;
  node.name = absl::StrCat("s", incarnation);
  node.incarnation = incarnation;
  return node;
}

const Node kA = Server(1);
const Node kB = Server(2);
const Node kC = Server(3);
const Node kD = Server(4);

std::string DutyName(ReplicaDuty duty) {
  switch (duty) {
    case ReplicaDuty::kCollect:
      return "collect";
    case ReplicaDuty::kLead:
      return "lead";
    case ReplicaDuty::kFollow:
      return "follow";
    case ReplicaDuty::kJoin:
      return "join";
    case ReplicaDuty::kDrop:
      return "drop";
  }
  return "";
}

// "s1 leads in 3": the duties of a step.
std::vector<std::string> Duties(const GroupSteps& steps) {
  std::vector<std::string> duties;
  for (const DutyOrder& duty : steps.duties) {
    duties.push_back(absl::StrCat(duty.to.name, " ", DutyName(duty.order.duty),
                                  " ", duty.order.epoch));
  }
  return duties;
}

std::vector<uint64_t> Members(const PartitionGroup& group) {
  std::vector<uint64_t> members;
  for (const Node& member : group.record().members) {
    members.push_back(member.incarnation);
  }
  return members;
}

class PartitionGroupTest : public ::testing::Test {
 protected:
  // What the event says is to be done.
  template <typename Event>
  GroupSteps After(Event event) {
    GroupSteps steps;
    event(&steps);
    return steps;
  }

  GroupSteps Lose(const Node& node) {
    return After(
        [&](GroupSteps* out) { group_.LoseNodes({node.incarnation}, out); });
  }
  GroupSteps LeaveOut(const Node& node) {
    return After(
        [&](GroupSteps* out) { group_.LeaveOut({node.incarnation}, out); });
  }
  GroupSteps Tell(const Node& from, uint64_t epoch, ReplicaDuty duty,
                  LogPosition last = {}, bool divergent = false) {
    return After([&](GroupSteps* out) {
      group_.TakeState(from.incarnation,
                       {.table = 5,
                        .partition = 7,
                        .epoch = epoch,
                        .duty = duty,
                        .last = last,
                        .divergent = divergent},
                       out);
    });
  }
  GroupSteps Position(const Node& from, uint64_t epoch, LogPosition last) {
    return Tell(from, epoch, ReplicaDuty::kCollect, last);
  }
  GroupSteps Recruit(const Node& node) {
    return After(
        [&](GroupSteps* out) { EXPECT_TRUE(group_.Recruit(node, out)); });
  }
  GroupSteps Recruited(uint64_t epoch, const Node& recruit) {
    return After([&](GroupSteps* out) {
      group_.TakeRecruited(epoch, recruit.incarnation, out);
    });
  }

  PartitionGroup group_{5, 7, {kA, kB, kC}};
};

TEST_F(PartitionGroupTest, BeginsInEpochOneAsItWasCreated) {
  EXPECT_EQ(group_.record(), (GroupRecord{1, {kA, kB, kC}, 1, std::nullopt}));
  EXPECT_TRUE(group_.settled());
}

TEST_F(PartitionGroupTest, ALostBackupIsOutWithTheNextEpoch) {
  const GroupSteps steps = Lose(kB);
  EXPECT_TRUE(steps.record_changed);
  EXPECT_TRUE(steps.placement_changed);
  EXPECT_THAT(Duties(steps), ElementsAre("s1 lead 2", "s3 follow 2"));
  EXPECT_EQ(group_.record(), (GroupRecord{2, {kA, kC}, 1, std::nullopt}));
  EXPECT_EQ(steps.duties[0].order.primary, kA);
  EXPECT_EQ(steps.duties[0].order.members, (std::vector<Node>{kA, kC}));
  EXPECT_EQ(steps.duties[0].order.table, 5u);
  EXPECT_EQ(steps.duties[0].order.partition, 7u);
}

TEST_F(PartitionGroupTest, AStrangersDeathChangesNothing) {
  const GroupSteps steps = Lose(kD);
  EXPECT_FALSE(steps.record_changed);
  EXPECT_THAT(steps.duties, IsEmpty());
}

// History 4d: A logs c1 and c2; B has both, C has c1; A is suspected. If C is
// promoted at once, c1 is lost when C dies, although B has it.
TEST_F(PartitionGroupTest, ALostPrimaryIsFollowedByTheLongestLog) {
  GroupSteps steps = Lose(kA);
  EXPECT_THAT(Duties(steps), ElementsAre("s2 collect 2", "s3 collect 2"));
  EXPECT_EQ(steps.duties[0].order.primary.name, "");
  EXPECT_TRUE(group_.collecting());
  EXPECT_EQ(group_.primary(), nullptr);

  EXPECT_THAT(Position(kC, 2, {1, 1}).duties, IsEmpty());
  steps = Position(kB, 2, {1, 2});
  EXPECT_TRUE(steps.record_changed);
  EXPECT_THAT(Duties(steps), ElementsAre("s2 lead 3", "s3 follow 3"));
  EXPECT_FALSE(group_.settled()) << "it may not have heard of it";
  Tell(kB, 3, ReplicaDuty::kLead);
  EXPECT_TRUE(group_.settled());
}

TEST_F(PartitionGroupTest, ALaterEpochIsHigherThanALargerNumber) {
  Lose(kA);
  Position(kC, 2, {2, 3});
  Position(kB, 2, {1, 9});
  EXPECT_EQ(group_.record().primary, kC.incarnation);
}

TEST_F(PartitionGroupTest, OfEqualLogsTheWishedOneLeads) {
  group_.Prefer(kC.incarnation);
  Lose(kA);
  Position(kC, 2, {1, 1});
  Position(kB, 2, {1, 1});
  EXPECT_EQ(group_.record().primary, kC.incarnation);
}

TEST_F(PartitionGroupTest, PositionsOfAnotherEpochOrServerDoNotCount) {
  Lose(kA);
  Position(kB, 2, {1, 2});
  EXPECT_THAT(Position(kC, 1, {1, 2}).duties, IsEmpty());
  EXPECT_THAT(Position(kD, 2, {1, 2}).duties, IsEmpty());
  EXPECT_THAT(Position(kA, 2, {1, 9}).duties, IsEmpty()) << "it is out";
  EXPECT_THAT(Position(kB, 2, {1, 9}).duties, IsEmpty()) << "a second time";
  EXPECT_TRUE(group_.collecting());
  Position(kC, 2, {1, 2});
  EXPECT_FALSE(group_.collecting());
}

TEST_F(PartitionGroupTest, ADeathWhileCollectingBeginsAnew) {
  Lose(kA);
  Position(kB, 2, {1, 2});
  GroupSteps steps = Lose(kC);
  EXPECT_THAT(Duties(steps), ElementsAre("s2 collect 3"));
  EXPECT_TRUE(group_.collecting()) << "answers of an older epoch do not count";
  steps = Position(kB, 3, {1, 2});
  EXPECT_THAT(Duties(steps), ElementsAre("s2 lead 4"));
}

TEST_F(PartitionGroupTest, AMemberThatHoldsNothingIsOut) {
  Lose(kA);
  const GroupSteps steps = Tell(kC, 2, ReplicaDuty::kDrop);
  EXPECT_THAT(Duties(steps), ElementsAre("s2 collect 3", "s3 drop 3"));
}

TEST_F(PartitionGroupTest, WithoutAMemberItIsLost) {
  Lose(kB);
  Lose(kC);
  const GroupSteps steps = Lose(kA);
  EXPECT_TRUE(steps.lost);
  EXPECT_TRUE(steps.record_changed);
  EXPECT_THAT(steps.duties, IsEmpty());
  EXPECT_TRUE(group_.lost());
  EXPECT_FALSE(group_.collecting());
}

TEST_F(PartitionGroupTest, WhoIsLeftOutAliveIsToldToDrop) {
  const GroupSteps steps = LeaveOut(kA);
  EXPECT_THAT(Duties(steps),
              ElementsAre("s2 collect 2", "s3 collect 2", "s1 drop 2"));
}

// History 28b: only an order whose set lacks the divergent replica lets it
// throw its log away.
TEST_F(PartitionGroupTest, ADivergentBackupIsLeftOut) {
  const GroupSteps steps =
      Tell(kB, 1, ReplicaDuty::kFollow, {1, 9}, /*divergent=*/true);
  EXPECT_THAT(Duties(steps),
              ElementsAre("s1 lead 2", "s3 follow 2", "s2 drop 2"));
}

// It was divergent from a primary that is dead: its log may be the longest.
TEST_F(PartitionGroupTest, ADivergentLogCountsWhileCollecting) {
  Lose(kA);
  Tell(kB, 2, ReplicaDuty::kCollect, {1, 3}, /*divergent=*/true);
  Position(kC, 2, {1, 2});
  EXPECT_EQ(group_.record().primary, kB.incarnation);
}

TEST_F(PartitionGroupTest, APrimaryThatDoesNotLeadIsReplaced) {
  const GroupSteps steps = Tell(kA, 1, ReplicaDuty::kDrop);
  EXPECT_TRUE(group_.collecting());
  EXPECT_THAT(Members(group_), ElementsAre(2, 3));
}

// Recruits
// ---------------------------------------------------------------------

TEST_F(PartitionGroupTest, ARecruitIsStoredOrderedAndReported) {
  Lose(kC);
  Tell(kA, 2, ReplicaDuty::kLead);
  GroupSteps steps = Recruit(kD);
  EXPECT_TRUE(steps.record_changed);
  EXPECT_FALSE(steps.placement_changed) << "clients see no recruits";
  EXPECT_THAT(Duties(steps), ElementsAre("s4 join 2"));
  EXPECT_FALSE(steps.recruit.has_value()) << "D has not heard of it yet";
  EXPECT_EQ(group_.record().recruit, kD);

  steps = Tell(kD, 2, ReplicaDuty::kJoin);
  ASSERT_TRUE(steps.recruit.has_value());
  EXPECT_EQ(steps.recruit->primary, kA);
  EXPECT_EQ(steps.recruit->epoch, 2u);
  EXPECT_EQ(steps.recruit->recruit, kD);

  steps = Recruited(2, kD);
  EXPECT_THAT(Duties(steps),
              ElementsAre("s1 lead 3", "s2 follow 3", "s4 follow 3"));
  EXPECT_EQ(group_.record(), (GroupRecord{3, {kA, kB, kD}, 1, std::nullopt}));
}

// History 4e: the primary waits for the recruit, which has died. Only a new
// epoch lets it go on.
TEST_F(PartitionGroupTest, ARecruitsDeathBeginsAnEpochWithoutIt) {
  Lose(kC);
  Tell(kA, 2, ReplicaDuty::kLead);
  Recruit(kD);
  Tell(kD, 2, ReplicaDuty::kJoin);
  const GroupSteps steps = Lose(kD);
  EXPECT_THAT(Duties(steps), ElementsAre("s1 lead 3", "s2 follow 3"));
  EXPECT_EQ(group_.record().recruit, std::nullopt);
  EXPECT_FALSE(Recruited(2, kD).record_changed) << "its report comes late";
  EXPECT_FALSE(Recruited(3, kD).record_changed);
  EXPECT_THAT(Members(group_), ElementsAre(1, 2));
}

TEST_F(PartitionGroupTest, AReportOfAnotherIncarnationDoesNotCount) {
  Lose(kC);
  Tell(kA, 2, ReplicaDuty::kLead);
  Recruit(kD);
  EXPECT_FALSE(Recruited(2, Server(9)).record_changed);
  EXPECT_FALSE(Recruited(1, kD).record_changed);
  EXPECT_TRUE(Recruited(2, kD).record_changed);
  EXPECT_FALSE(Recruited(2, kD).record_changed) << "a second time";
}

TEST_F(PartitionGroupTest, ARecruitIsGivenUpWhenThePrimaryDies) {
  Lose(kC);
  Tell(kA, 2, ReplicaDuty::kLead);
  Recruit(kD);
  const GroupSteps steps = Lose(kA);
  EXPECT_THAT(Duties(steps), ElementsAre("s2 collect 3", "s4 drop 3"));
}

TEST_F(PartitionGroupTest, ARecruitOutlivesABackup) {
  Tell(kA, 1, ReplicaDuty::kLead);
  Recruit(kD);
  GroupSteps steps = Lose(kB);
  EXPECT_THAT(Duties(steps),
              ElementsAre("s1 lead 2", "s3 follow 2", "s4 join 2"));
  EXPECT_FALSE(steps.recruit.has_value());
  EXPECT_FALSE(Tell(kD, 1, ReplicaDuty::kJoin).recruit.has_value());
  EXPECT_FALSE(Tell(kD, 2, ReplicaDuty::kJoin).recruit.has_value());
  EXPECT_TRUE(Tell(kA, 2, ReplicaDuty::kLead).recruit.has_value())
      << "both have begun the epoch";
}

TEST_F(PartitionGroupTest, ARecruitThatDoesNotComeInIsGivenUp) {
  Lose(kC);
  Tell(kA, 2, ReplicaDuty::kLead);
  Recruit(kD);
  GroupSteps steps =
      After([&](GroupSteps* out) { group_.FailRecruit(1, out); });
  EXPECT_FALSE(steps.record_changed) << "of another epoch";
  steps = After([&](GroupSteps* out) { group_.FailRecruit(2, out); });
  EXPECT_THAT(Duties(steps),
              ElementsAre("s1 lead 3", "s2 follow 3", "s4 drop 3"));
}

// History 27b: a duty never changes inside an epoch, so a server that was told
// to drop in this one joins in the next.
TEST_F(PartitionGroupTest, WhoWasDroppedInThisEpochJoinsInTheNext) {
  LeaveOut(kC);
  Tell(kA, 2, ReplicaDuty::kLead);
  GroupSteps steps = Recruit(kC);
  EXPECT_THAT(Duties(steps),
              ElementsAre("s1 lead 3", "s2 follow 3", "s3 join 3"));
  EXPECT_FALSE(Tell(kC, 3, ReplicaDuty::kJoin).recruit.has_value());
  EXPECT_TRUE(Tell(kA, 3, ReplicaDuty::kLead).recruit.has_value());
}

TEST_F(PartitionGroupTest, OneThingAtATime) {
  GroupSteps steps;
  EXPECT_TRUE(group_.Recruit(kD, &steps));
  EXPECT_FALSE(group_.Recruit(Server(9), &steps));
  EXPECT_FALSE(group_.HandOverTo(kB.incarnation, &steps));
  Lose(kA);
  steps = {};
  EXPECT_FALSE(group_.Recruit(Server(9), &steps)) << "there is no primary";
  EXPECT_FALSE(steps.record_changed);
}

// Moves
// ------------------------------------------------------------------------

TEST_F(PartitionGroupTest, APrimaryMovesInTwoEpochs) {
  GroupSteps steps = After([&](GroupSteps* out) {
    EXPECT_TRUE(group_.HandOverTo(kC.incarnation, out));
  });
  ASSERT_TRUE(steps.hand_over.has_value());
  EXPECT_EQ(steps.hand_over->primary, kA);
  EXPECT_FALSE(steps.record_changed);

  steps = After([&](GroupSteps* out) { group_.TakeHandedOver(1, out); });
  EXPECT_THAT(Duties(steps),
              ElementsAre("s1 collect 2", "s2 collect 2", "s3 collect 2"));
  Position(kA, 2, {1, 4});
  Position(kB, 2, {1, 4});
  Position(kC, 2, {1, 4});
  EXPECT_EQ(group_.record().primary, kC.incarnation);
  EXPECT_THAT(Members(group_), UnorderedElementsAre(1, 2, 3));
}

TEST_F(PartitionGroupTest, AMoveTakesTheHighestIfTheChosenOneIsNot) {
  GroupSteps steps;
  group_.HandOverTo(kC.incarnation, &steps);
  group_.TakeHandedOver(1, &steps);
  Position(kC, 2, {1, 4});
  Position(kB, 2, {1, 5});
  Position(kA, 2, {1, 4});
  EXPECT_EQ(group_.record().primary, kB.incarnation);
}

TEST_F(PartitionGroupTest, AHandOverThatIsOffChangesNothing) {
  GroupSteps steps;
  group_.HandOverTo(kC.incarnation, &steps);
  group_.FailHandOver(1);
  EXPECT_FALSE(group_.handing_over());
  steps = {};
  group_.TakeHandedOver(1, &steps);
  EXPECT_FALSE(steps.record_changed);
  EXPECT_TRUE(group_.HandOverTo(kB.incarnation, &steps));
}

// After a restart
// --------------------------------------------------------------

TEST_F(PartitionGroupTest, ALedGroupIsOrderedAgain) {
  PartitionGroup again(5, 7, {4, {kA, kB}, 1, kD});
  GroupSteps steps;
  again.Resume(&steps);
  EXPECT_FALSE(steps.record_changed);
  EXPECT_THAT(Duties(steps),
              ElementsAre("s1 lead 4", "s2 follow 4", "s4 join 4"));
  EXPECT_FALSE(again.settled());
}

TEST_F(PartitionGroupTest, CollectingGoesOn) {
  PartitionGroup again(5, 7, {2, {kB, kC}, 0, std::nullopt});
  GroupSteps steps;
  again.Resume(&steps);
  EXPECT_THAT(Duties(steps), ElementsAre("s2 collect 2", "s3 collect 2"));
  again.TakeState(3, {5, 7, 2, ReplicaDuty::kCollect, {1, 1}}, &steps);
  again.TakeState(2, {5, 7, 2, ReplicaDuty::kCollect, {1, 2}}, &steps);
  EXPECT_EQ(again.record().primary, kB.incarnation);
}

// Whom the scheduler before it has told to drop in this epoch is not known.
TEST_F(PartitionGroupTest, TheFirstRecruitAfterARestartBeginsAnEpoch) {
  PartitionGroup again(5, 7, {4, {kA, kB}, 1, std::nullopt});
  GroupSteps steps;
  again.Resume(&steps);
  again.TakeState(1, {5, 7, 4, ReplicaDuty::kLead}, &steps);
  steps = {};
  ASSERT_TRUE(again.Recruit(kC, &steps));
  EXPECT_THAT(Duties(steps),
              ElementsAre("s1 lead 5", "s2 follow 5", "s3 join 5"));
}

TEST_F(PartitionGroupTest, AServerThatHoldsWhatItShouldNotIsToldToDrop) {
  Lose(kC);
  GroupSteps steps = After([&](GroupSteps* out) { group_.FindHeld(kC, out); });
  EXPECT_THAT(Duties(steps), ElementsAre("s3 drop 2"));
  steps = After([&](GroupSteps* out) { group_.FindHeld(kB, out); });
  EXPECT_THAT(steps.duties, IsEmpty());
}

}  // namespace
}  // namespace seraph
