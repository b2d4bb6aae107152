#include "scheduler/job/rank_roster.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Node MakeNode(uint64_t incarnation) {
  Node node;
  node.name = "w";
  node.incarnation = incarnation;
  return node;
}

TEST(RankRosterTest, ALostWorkersRanksWaitUnlessTheyAreDone) {
  RankRoster roster(3);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    roster.Assign(rank, MakeNode(rank == 1 ? 8 : 7));
    EXPECT_EQ(roster.Begin(rank, absl::ZeroDuration()), 1u);
  }
  roster.Finish(2);
  EXPECT_THAT(roster.LoseWorker(MakeNode(7)), ElementsAre(0));
  EXPECT_THAT(roster.Waiting(), ElementsAre(0));
  EXPECT_THAT(roster.LoseWorker(MakeNode(7)), IsEmpty()) << "a repeat";
  roster.Assign(0, MakeNode(8));
  EXPECT_EQ(roster.Begin(0, absl::ZeroDuration()), 2u);
  EXPECT_EQ(roster.CountOn(MakeNode(8)), 2u);
  EXPECT_FALSE(roster.AllDone());
}

TEST(RankRosterTest, AttemptsAreNeverSetBack) {
  RankRoster roster(1);
  roster.Assign(0, MakeNode(7));
  roster.Begin(0, absl::ZeroDuration());
  roster.Finish(0);
  roster.GoBack();
  EXPECT_FALSE(roster[0].done);
  EXPECT_THAT(roster.Waiting(), ElementsAre(0));
  roster.Assign(0, MakeNode(7));
  EXPECT_EQ(roster.Begin(0, absl::ZeroDuration()), 2u);
}

TEST(RankRosterTest, OnlyTheSlowestCanStandStill) {
  RankRoster roster(2);
  roster.Assign(0, MakeNode(7));
  roster.Assign(1, MakeNode(7));
  const std::vector<bool> nobody = {false, false};
  const absl::Duration timeout = absl::Seconds(10);
  roster.See({{{0, 5}, {0, 4}}}, absl::Seconds(1));
  EXPECT_EQ(roster.FindStalled(timeout, true, nobody, absl::Seconds(10)),
            std::nullopt);
  EXPECT_EQ(roster.FindStalled(timeout, true, nobody, absl::Seconds(12)), 1u);
  EXPECT_EQ(roster.FindStalled(timeout, false, nobody, absl::Seconds(12)),
            std::nullopt)
      << "asp: nobody waits for it";
  roster.Excuse(absl::Seconds(11));
  EXPECT_EQ(roster.FindStalled(timeout, true, nobody, absl::Seconds(12)),
            std::nullopt);
  // Both have ended the epoch; one tells its share of the validation.
  roster.See({{{1, 0}, {1, 0}}}, absl::Seconds(12));
  EXPECT_EQ(
      roster.FindStalled(timeout, false, {true, false}, absl::Seconds(30)), 1u);
}

}  // namespace
}  // namespace seraph
