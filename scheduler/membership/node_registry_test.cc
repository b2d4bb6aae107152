#include "scheduler/membership/node_registry.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kTimeout = absl::Seconds(10);
constexpr absl::Duration kStart = absl::Seconds(1000);
constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

Node MakeNode(const std::string& name, uint64_t incarnation,
              NodeRole role = NodeRole::kServer) {
  Node node;
  node.name = name;
  node.role = role;
  node.address = name + ":7401";
  node.incarnation = incarnation;
  return node;
}

std::vector<std::string> Names(const std::vector<LostNode>& lost) {
  std::vector<std::string> names;
  for (const LostNode& node : lost) names.push_back(node.node.name);
  return names;
}

class NodeRegistryTest : public ::testing::Test {
 protected:
  // A node that sends heartbeats from now on.
  void Beat(const Node& node) { beating_.push_back(node); }
  void Still(const std::string& name) {
    std::erase_if(beating_,
                  [&](const Node& node) { return node.name == name; });
  }

  // Steps to `until` as the scheduler does, and returns who died on the way.
  std::vector<std::string> TickUntil(absl::Duration until) {
    std::vector<std::string> died;
    while (now_ < until) {
      now_ = std::min(now_ + absl::Seconds(1), until);
      for (const Node& node : beating_) {
        EXPECT_THAT(registry_.Heartbeat(node.name, node.incarnation, {}, now_),
                    IsOk());
      }
      for (const std::string& name : Names(registry_.Tick(now_))) {
        died.push_back(name);
      }
    }
    return died;
  }

  absl::Duration now_ = kStart;
  NodeRegistry registry_{kTimeout, kStart};
  std::vector<Node> beating_;
};

TEST_F(NodeRegistryTest, ASilentNodeDiesOnceAndItsHeartbeatComesTooLate) {
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  Beat(MakeNode("b", 2));
  ASSERT_THAT(TickUntil(kStart + kTimeout), IsEmpty())
      << "at the limit it is still alive";

  EXPECT_THAT(TickUntil(kStart + kTimeout + absl::Nanoseconds(1)),
              ElementsAre("a"));
  EXPECT_THAT(TickUntil(kStart + kTimeout + absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(registry_.Heartbeat("a", 1, {}, now_), StatusIs(kNotFound));
  EXPECT_FALSE(registry_.IsAlive("a", 1));
  EXPECT_TRUE(registry_.IsAlive("b", 2));
}

TEST_F(NodeRegistryTest, ANewIncarnationIsTheDeathOfTheOldOne) {
  registry_.Register(MakeNode("a", 1), now_);
  const std::vector<LostNode> lost =
      registry_.Register(MakeNode("a", 2), now_ + absl::Milliseconds(200));
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].node.incarnation, 1u);
  EXPECT_EQ(lost[0].reason, LossReason::kRestarted);

  EXPECT_THAT(registry_.Heartbeat("a", 1, {}, now_), StatusIs(kNotFound))
      << "a late heartbeat of the dead one must not count for its successor";
  EXPECT_THAT(registry_.Heartbeat("a", 2, {}, now_), IsOk());
}

TEST_F(NodeRegistryTest, AnotherNameAtTheSameAddressIsADeathToo) {
  registry_.Register(MakeNode("a", 1), now_);
  Node renamed = MakeNode("b", 2);
  renamed.address = "a:7401";
  EXPECT_THAT(Names(registry_.Register(renamed, now_)), ElementsAre("a"));
}

TEST_F(NodeRegistryTest, ARepeatedRegistrationKillsNobody) {
  registry_.Register(MakeNode("a", 1), now_);
  ASSERT_THAT(registry_.Heartbeat("a", 1, {.rows = 7}, now_), IsOk());
  EXPECT_THAT(registry_.Register(MakeNode("a", 1), now_), IsEmpty());
  ASSERT_THAT(registry_.Records(), SizeIs(1));
  EXPECT_EQ(registry_.Records()[0].load.rows, 7u);
}

TEST_F(NodeRegistryTest, ADeadIncarnationMayComeBack) {
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  Beat(MakeNode("b", 2));
  ASSERT_THAT(TickUntil(kStart + 3 * kTimeout), ElementsAre("a"));
  EXPECT_THAT(registry_.Register(MakeNode("a", 1), now_), IsEmpty());
  EXPECT_THAT(registry_.Heartbeat("a", 1, {}, now_), IsOk());
}

TEST_F(NodeRegistryTest, LeavingIsNotedOnce) {
  registry_.Register(MakeNode("a", 1), now_);
  EXPECT_FALSE(registry_.Leave("a", 2).has_value()) << "another incarnation";
  const std::optional<LostNode> left = registry_.Leave("a", 1);
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->reason, LossReason::kLeft);
  EXPECT_FALSE(registry_.Leave("a", 1).has_value());
  EXPECT_THAT(registry_.Heartbeat("a", 1, {}, now_), StatusIs(kNotFound));
  EXPECT_THAT(TickUntil(kStart + 3 * kTimeout), IsEmpty())
      << "who has left cannot die";
}

// A scheduler that has just started knows nobody's last heartbeat.
TEST_F(NodeRegistryTest, NobodyDiesWithinATimeoutOfTheStart) {
  registry_.Register(MakeNode("a", 1), kStart - absl::Hours(1));
  registry_.Register(MakeNode("b", 2), now_);
  Beat(MakeNode("b", 2));
  EXPECT_THAT(TickUntil(kStart + kTimeout), IsEmpty());
  EXPECT_THAT(TickUntil(kStart + kTimeout + absl::Seconds(1)),
              ElementsAre("a"));
}

// The scheduler is stopped for a minute: the silence was its own.
TEST_F(NodeRegistryTest, NobodyDiesForTheSchedulersOwnPause) {
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  now_ += absl::Minutes(1);
  EXPECT_THAT(registry_.Tick(now_), IsEmpty());
  Beat(MakeNode("b", 2));
  // Of a timeout, from when b is heard again.
  const absl::Duration end = now_ + absl::Seconds(1) + kTimeout;
  EXPECT_THAT(TickUntil(end), IsEmpty());
  EXPECT_THAT(TickUntil(end + absl::Nanoseconds(1)), ElementsAre("a"));
}

// A scheduler that is cut off from everybody calls nobody dead: the jobs, which
// go on, would be set back on its return.
TEST_F(NodeRegistryTest, NobodyDiesWhileAllAreSilentNorSoonAfterwards) {
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  registry_.Register(MakeNode("w", 3, NodeRole::kWorker), now_);
  EXPECT_THAT(TickUntil(kStart + absl::Hours(1)), IsEmpty());
  Beat(MakeNode("b", 2));
  const absl::Duration healed = now_;
  EXPECT_THAT(TickUntil(healed + kTimeout), IsEmpty());
  EXPECT_THAT(registry_.Heartbeat("a", 1, {}, now_), IsOk())
      << "the same incarnation simply goes on";
  EXPECT_THAT(TickUntil(healed + 2 * kTimeout), ElementsAre("w"));
}

TEST_F(NodeRegistryTest, MostServersFallingSilentGivesAllOfThemATimeoutMore) {
  for (const char* name : {"a", "b", "c"}) {
    registry_.Register(MakeNode(name, name[0]), now_);
    Beat(MakeNode(name, name[0]));
  }
  TickUntil(kStart + 5 * kTimeout);
  Still("a");
  Still("b");
  const absl::Duration silent = now_;
  EXPECT_THAT(TickUntil(silent + kTimeout * 3 / 2), IsEmpty());
  EXPECT_THAT(TickUntil(silent + 2 * kTimeout), ElementsAre("a", "b"))
      << "but they do die in the end: c is heard";
}

TEST_F(NodeRegistryTest, ServersHeardAgainGiveTheOthersATimeoutMore) {
  for (const char* name : {"a", "b", "c"}) {
    registry_.Register(MakeNode(name, name[0]), now_);
    Beat(MakeNode(name, name[0]));
  }
  TickUntil(kStart + 5 * kTimeout);
  Still("a");
  Still("b");
  EXPECT_THAT(TickUntil(now_ + kTimeout * 3 / 2), IsEmpty());
  Beat(MakeNode("a", 'a'));
  const absl::Duration heard = now_;
  EXPECT_THAT(TickUntil(heard + kTimeout), IsEmpty());
  EXPECT_THAT(TickUntil(heard + kTimeout * 2), ElementsAre("b"));
}

// What a scheduler knows from the one before it.
class ExpectedNodesTest : public NodeRegistryTest {
 protected:
  ExpectedNodesTest() {
    registry_ = NodeRegistry(
        kTimeout, kStart,
        {{MakeNode("a", 1)}, {MakeNode("b", 2), true}, {MakeNode("c", 3)}});
  }
};

TEST_F(ExpectedNodesTest, AreAliveAndGoOnWithoutRegistering) {
  EXPECT_TRUE(registry_.IsAlive("a", 1));
  EXPECT_THAT(registry_.Heartbeat("a", 1, {}, now_), IsOk());
  EXPECT_THAT(registry_.Heartbeat("a", 7, {}, now_), StatusIs(kNotFound));
  EXPECT_TRUE(registry_.IsDraining(2));
}

#ifdef SERAPH_PLANTED_BUGS
TEST_F(ExpectedNodesTest, AreAllDeadWithTheBugThatDoesNotWait) {
  planted_bug = PlantedBug::kAllDeadAtSchedulerStart;
  registry_ = NodeRegistry(kTimeout, kStart, {{MakeNode("a", 1)}});
  planted_bug = PlantedBug::kNone;
  registry_.Register(MakeNode("w", 2, NodeRole::kWorker), now_);
  EXPECT_THAT(TickUntil(kStart + absl::Seconds(1)), ElementsAre("a"));
}
#endif

TEST_F(ExpectedNodesTest, DieIfTheyDoNotComeWithinATimeout) {
  Beat(MakeNode("a", 1));
  Beat(MakeNode("b", 2));
  EXPECT_THAT(TickUntil(kStart + kTimeout), IsEmpty());
  EXPECT_THAT(TickUntil(kStart + kTimeout + absl::Seconds(1)),
              ElementsAre("c"));
}

TEST_F(ExpectedNodesTest, AreRestartedIfAnotherIncarnationComes) {
  const std::vector<LostNode> lost =
      registry_.Register(MakeNode("b", 9), now_ + absl::Seconds(1));
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].reason, LossReason::kRestarted);
  EXPECT_FALSE(registry_.IsDraining(2));
  EXPECT_FALSE(registry_.IsDraining(9)) << "it was started to be used";
}

TEST_F(NodeRegistryTest, DrainsUntilTheNextIncarnation) {
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  EXPECT_THAT(registry_.Drain("x", 0), StatusIs(kNotFound));
  EXPECT_THAT(registry_.Drain("a", 7), StatusIs(kNotFound));
  EXPECT_THAT(registry_.Drain("a", 1), IsOk());
  EXPECT_THAT(registry_.Drain("a", 0), IsOk()) << "a repeat";
  EXPECT_TRUE(registry_.IsDraining(1));
  registry_.Register(MakeNode("a", 1), now_);
  EXPECT_TRUE(registry_.IsDraining(1)) << "the same incarnation again";
  registry_.Register(MakeNode("a", 3), now_);
  EXPECT_FALSE(registry_.IsDraining(3));
}

TEST_F(NodeRegistryTest, TheLastOfARoleIsNotDrained) {
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  registry_.Register(MakeNode("w", 3, NodeRole::kWorker), now_);
  EXPECT_THAT(registry_.Drain("w", 0), StatusIs(kRefused));
  EXPECT_THAT(registry_.Drain("a", 0), IsOk());
  EXPECT_THAT(registry_.Drain("b", 0), StatusIs(kRefused))
      << "a server that drains takes nothing over";
}

TEST_F(NodeRegistryTest, OneThatIsLeavingDrainsThoughNobodyTakesOver) {
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  EXPECT_THAT(registry_.Drain("a", 1, /*leaving=*/true), IsOk());
  EXPECT_FALSE(registry_.AllServersStop());
  EXPECT_THAT(registry_.Drain("b", 2, /*leaving=*/true), IsOk());
  EXPECT_TRUE(registry_.AllServersStop());
  EXPECT_EQ(registry_.CountLeaving(), 2u);
  registry_.Register(MakeNode("b", 3), now_);
  EXPECT_FALSE(registry_.AllServersStop()) << "the new one stays";
  registry_.Leave("b", 3);
  EXPECT_TRUE(registry_.AllServersStop());
  registry_.Leave("a", 1);
  EXPECT_FALSE(registry_.AllServersStop()) << "they have stopped";
  EXPECT_EQ(registry_.CountLeaving(), 0u);
}

TEST_F(NodeRegistryTest, ADrainWithoutAnEndStopsNothing) {
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  EXPECT_THAT(registry_.Drain("a", 1), IsOk());
  registry_.Leave("b", 2);
  EXPECT_FALSE(registry_.AllServersStop());
  EXPECT_THAT(registry_.Drain("a", 1, /*leaving=*/true), IsOk());
  EXPECT_TRUE(registry_.AllServersStop());
}

TEST_F(NodeRegistryTest, TellsWhenTheLivingAreToBeStored) {
  uint64_t version = registry_.known_version();
  const auto has_changed = [&] {
    return std::exchange(version, registry_.known_version()) != version;
  };
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  EXPECT_TRUE(has_changed());
  registry_.Register(MakeNode("a", 1), now_);
  ASSERT_THAT(registry_.Heartbeat("a", 1, {.rows = 7}, now_), IsOk());
  EXPECT_FALSE(has_changed());
  ASSERT_THAT(registry_.Drain("a", 1), IsOk());
  EXPECT_TRUE(has_changed());
  EXPECT_THAT(registry_.Known(),
              ElementsAre(KnownNode{MakeNode("a", 1), true},
                          KnownNode{MakeNode("b", 2), false}));
  registry_.Leave("a", 1);
  EXPECT_TRUE(has_changed());
  EXPECT_THAT(registry_.Known(),
              ElementsAre(KnownNode{MakeNode("b", 2), false}));
}

TEST_F(NodeRegistryTest, AHeartbeatOfAStrangerIsRefused) {
  EXPECT_THAT(registry_.Heartbeat("a", 1, {}, now_), StatusIs(kNotFound));
}

TEST_F(NodeRegistryTest, TheLivingOfARoleComeByName) {
  registry_.Register(MakeNode("w2", 1, NodeRole::kWorker), now_);
  registry_.Register(MakeNode("s", 2), now_);
  registry_.Register(MakeNode("w1", 3, NodeRole::kWorker), now_);
  registry_.Register(MakeNode("w3", 4, NodeRole::kWorker), now_);
  registry_.Leave("w3", 4);
  std::vector<std::string> names;
  for (const Node& node : registry_.Alive(NodeRole::kWorker)) {
    names.push_back(node.name);
  }
  EXPECT_THAT(names, ElementsAre("w1", "w2"));
}

TEST_F(NodeRegistryTest, NodesThatAreGoneAreForgottenInTheEnd) {
  constexpr size_t kMany = NodeRegistry::kMaxGone + 50;
  for (size_t i = 0; i < kMany; ++i) {
    now_ += absl::Milliseconds(1);
    registry_.Register(MakeNode(absl::StrCat("w", i), i + 1), now_);
    registry_.Leave(absl::StrCat("w", i), i + 1);
  }
  registry_.Register(MakeNode("last", kMany + 1), now_);
  EXPECT_THAT(registry_.Records(), SizeIs(NodeRegistry::kMaxGone + 1));
  EXPECT_TRUE(registry_.IsAlive("last", kMany + 1));
}

}  // namespace
}  // namespace seraph
