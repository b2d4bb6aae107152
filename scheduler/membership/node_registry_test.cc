#include "scheduler/membership/node_registry.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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
  // Steps to `until` as the scheduler does, and returns who died on the way.
  std::vector<std::string> TickUntil(absl::Duration until) {
    std::vector<std::string> died;
    while (now_ < until) {
      now_ = std::min(now_ + absl::Seconds(1), until);
      for (const std::string& name : Names(registry_.Tick(now_))) {
        died.push_back(name);
      }
    }
    return died;
  }

  absl::Duration now_ = kStart;
  NodeRegistry registry_{kTimeout, kStart};
};

TEST_F(NodeRegistryTest, ASilentNodeDiesOnceAndItsHeartbeatComesTooLate) {
  registry_.Register(MakeNode("a", 1), now_);
  registry_.Register(MakeNode("b", 2), now_);
  ASSERT_THAT(TickUntil(kStart + kTimeout), IsEmpty())
      << "at the limit it is still alive";
  ASSERT_THAT(registry_.Heartbeat("b", 2, {}, now_), IsOk());

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
  ASSERT_THAT(registry_.Heartbeat("b", 2, {}, now_), IsOk());
  const absl::Duration end = now_ + kTimeout;
  EXPECT_THAT(TickUntil(end), IsEmpty());
  ASSERT_THAT(registry_.Heartbeat("b", 2, {}, now_), IsOk());
  EXPECT_THAT(TickUntil(end + absl::Nanoseconds(1)), ElementsAre("a"));
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
