#include "scheduler/placement/node_choice.h"

#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kWait = absl::StatusCode::kUnavailable;

Node Server(const std::string& name, const std::string& arithmetic = "x") {
  Node node;
  node.name = name;
  node.arithmetic = arithmetic;
  return node;
}

WorkerRoom Worker(const std::string& name, uint32_t slots, uint32_t taken = 0,
                  const std::string& arithmetic = "x") {
  WorkerRoom room;
  room.node = Server(name, arithmetic);
  room.node.role = NodeRole::kWorker;
  room.node.slots = slots;
  room.taken = taken;
  return room;
}

std::vector<std::string> Names(const std::vector<Node>& nodes) {
  std::vector<std::string> names;
  for (const Node& node : nodes) names.push_back(node.name);
  return names;
}

TEST(NodeChoiceTest, DealsRanksToWorkersInTurn) {
  const auto choice = ChooseNodes({Server("s2"), Server("s1")},
                                  {Worker("w2", 64), Worker("w1", 64)}, 5,
                                  /*same_arithmetic=*/true);
  ASSERT_THAT(choice, IsOk());
  EXPECT_THAT(Names(choice->servers), ElementsAre("s1", "s2"));
  EXPECT_THAT(Names(choice->worker_of_rank),
              ElementsAre("w1", "w2", "w1", "w2", "w1"));
}

TEST(NodeChoiceTest, AFullWorkerIsPassedOver) {
  const auto choice = ChooseNodes(
      {Server("s")}, {Worker("w1", 2, 1), Worker("w2", 3)}, 4, false);
  ASSERT_THAT(choice, IsOk());
  EXPECT_THAT(Names(choice->worker_of_rank),
              ElementsAre("w2", "w1", "w2", "w2"));
}

TEST(NodeChoiceTest, AWorkerWithoutALimitTakesAll) {
  const auto choice =
      ChooseNodes({Server("s")}, {Worker("w", 0, 1000)}, 500, false);
  ASSERT_THAT(choice, IsOk());
  EXPECT_EQ(choice->worker_of_rank.size(), 500u);
}

TEST(NodeChoiceTest, BspStaysOnOneKindOfNodes) {
  const auto choice =
      ChooseNodes({Server("s1", "x"), Server("s2", "y")},
                  {Worker("w1", 2, 0, "x"), Worker("w2", 2, 0, "y"),
                   Worker("w3", 1, 0, "y"), Worker("w4", 9, 0, "z")},
                  2, /*same_arithmetic=*/true);
  ASSERT_THAT(choice, IsOk());
  EXPECT_THAT(Names(choice->servers), ElementsAre("s2"));
  EXPECT_THAT(Names(choice->worker_of_rank), ElementsAre("w2", "w3"));
}

TEST(NodeChoiceTest, OtherModesMayMixKinds) {
  const auto choice =
      ChooseNodes({Server("s1", "x")}, {Worker("w1", 1, 0, "y")}, 1,
                  /*same_arithmetic=*/false);
  EXPECT_THAT(choice, IsOk());
}

struct Wait {
  std::string name;
  std::vector<Node> servers;
  std::vector<WorkerRoom> workers;
  uint32_t ranks;
  std::string want;
};

class NodeChoiceWaits : public ::testing::TestWithParam<Wait> {};

TEST_P(NodeChoiceWaits, AndSaysForWhat) {
  EXPECT_THAT(ChooseNodes(GetParam().servers, GetParam().workers,
                          GetParam().ranks, /*same_arithmetic=*/true),
              StatusIs(kWait, HasSubstr(GetParam().want)));
}

INSTANTIATE_TEST_SUITE_P(
    Lacks, NodeChoiceWaits,
    ::testing::Values(
        Wait{"NoServer", {}, {Worker("w", 1)}, 1, "no server"},
        Wait{"NoWorker", {Server("s")}, {}, 1, "no worker"},
        // Half of the ranks must not start: they would wait for the others.
        Wait{"TooFewSlots",
             {Server("s")},
             {Worker("w", 4, 1)},
             4,
             "all 4 ranks start together, but 1 worker with 4 slots has 3 "
             "free"},
        Wait{"NoKindIsComplete",
             {Server("s", "x")},
             {Worker("w", 4, 0, "y")},
             1,
             "same build"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace seraph
