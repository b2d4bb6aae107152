// Where replicas come to lie: PartitionMap with servers that do all they are
// told.
#include "scheduler/replicas/replica_planner.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/replicas/obedient_servers.h"
#include "scheduler/replicas/partition_map.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;

// Partitions 0, 1, ... of table 0, dealt to the servers in turn.
std::vector<PartitionPlacement> Deal(const std::vector<Node>& servers,
                                     uint32_t partitions, uint32_t replicas) {
  std::vector<PartitionPlacement> placements;
  for (uint32_t p = 0; p < partitions; ++p) {
    PartitionPlacement& placement = placements.emplace_back();
    placement.partition = p;
    placement.epoch = 1;
    placement.primary = servers[p % servers.size()];
    for (uint32_t r = 1; r < replicas && r < servers.size(); ++r) {
      placement.backups.push_back(servers[(p + r) % servers.size()]);
    }
  }
  return placements;
}

struct Fixture {
  Fixture(std::vector<Node> nodes, uint32_t partitions, uint32_t replicas)
      : map({.replicas = replicas}, Deal(nodes, partitions, replicas)) {
    for (const Node& node : nodes) servers.Add(node);
  }

  std::map<uint64_t, HeldReplicas> Held() const {
    std::map<uint64_t, HeldReplicas> held;
    map.AddHeld(&held);
    return held;
  }

  // By the servers that live: largest minus smallest.
  int Spread(bool primaries) {
    std::map<uint64_t, HeldReplicas> held = Held();
    int least = 1 << 30;
    int most = 0;
    for (const ServerRoom& room : servers.Rooms(map)) {
      if (room.draining) continue;
      const HeldReplicas& here = held[room.node.incarnation];
      const int n = here.primaries + (primaries ? 0 : here.backups);
      least = std::min(least, n);
      most = std::max(most, n);
    }
    return most - least;
  }

  PartitionMap map;
  ObedientServers servers;
};

std::vector<Node> Nodes(int n) {
  std::vector<Node> nodes;
  for (int i = 1; i <= n; ++i) nodes.push_back(MakeServer(i));
  return nodes;
}

TEST(ReplicaPlannerTest, DoesNothingWhereAllIsWell) {
  Fixture fixture(Nodes(3), 12, 2);
  EXPECT_EQ(fixture.servers.Settle(&fixture.map), 0);
  EXPECT_EQ(fixture.map.version(), 12u);
}

TEST(ReplicaPlannerTest, ALostServersReplicasAreMadeAgain) {
  Fixture fixture(Nodes(4), 16, 2);
  fixture.servers.Remove(1);
  fixture.map.LoseNode(MakeServer(1));
  fixture.servers.Obey(&fixture.map);
  EXPECT_TRUE(fixture.map.AllLed());
  EXPECT_EQ(fixture.map.LeastInSync(), 1u);
  EXPECT_EQ(fixture.map.Degraded(), 8u);
  EXPECT_GT(fixture.servers.Settle(&fixture.map), 0);
  EXPECT_EQ(fixture.map.Degraded(), 0u);
  EXPECT_LE(fixture.Spread(false), 1);
  EXPECT_LE(fixture.Spread(true), 1);
  EXPECT_FALSE(fixture.map.Holds(1));
}

TEST(ReplicaPlannerTest, WithTooFewServersThereAreAsManyReplicasAsServers) {
  Fixture fixture(Nodes(2), 4, 2);
  fixture.servers.Remove(1);
  fixture.map.LoseNode(MakeServer(1));
  EXPECT_GE(fixture.servers.Settle(&fixture.map), 0);
  EXPECT_EQ(fixture.map.LeastInSync(), 1u);
  fixture.servers.Add(MakeServer(9));
  EXPECT_GT(fixture.servers.Settle(&fixture.map), 0);
  EXPECT_EQ(fixture.map.Degraded(), 0u);
}

TEST(ReplicaPlannerTest, RecruitsAreLimited) {
  Fixture fixture(Nodes(3), 12, 2);
  fixture.map.LoseNode(MakeServer(1));
  fixture.servers.Remove(1);
  fixture.servers.Obey(&fixture.map);
  fixture.map.Plan(fixture.servers.Rooms(fixture.map), true,
                   absl::ZeroDuration());
  size_t recruits = 0;
  for (const PartitionRecord& record : fixture.map.Records()) {
    recruits += record.group.recruit.has_value();
  }
  EXPECT_EQ(recruits, ReplicaOptions().recruits_at_once);
}

TEST(ReplicaPlannerTest, ADrainedServerIsEmptiedWithOneReplica) {
  Fixture fixture(Nodes(3), 9, 1);
  fixture.servers.Drain(2);
  EXPECT_GT(fixture.servers.Settle(&fixture.map), 0);
  EXPECT_FALSE(fixture.map.Holds(2));
  EXPECT_TRUE(fixture.map.AllLed());
  EXPECT_EQ(fixture.map.Degraded(), 0u);
  EXPECT_LE(fixture.Spread(true), 1);
  EXPECT_EQ(fixture.servers.recruits(), 3u) << "one for each it held";
  EXPECT_EQ(fixture.servers.hand_overs(), 3u);
}

TEST(ReplicaPlannerTest, ADrainNeverLeavesLessThanIsWanted) {
  Fixture fixture(Nodes(4), 8, 2);
  fixture.servers.Drain(1);
  for (int i = 0; i < 200; ++i) {
    fixture.map.Plan(fixture.servers.Rooms(fixture.map), true,
                     absl::ZeroDuration());
    fixture.servers.Obey(&fixture.map);
    ASSERT_EQ(fixture.map.Degraded(), 0u);
  }
  EXPECT_FALSE(fixture.map.Holds(1));
  EXPECT_LE(fixture.Spread(false), 1);
}

TEST(ReplicaPlannerTest, TwoServersLeftOneDrainsItsCopiesGo) {
  Fixture fixture(Nodes(2), 4, 2);
  fixture.servers.Drain(1);
  EXPECT_GT(fixture.servers.Settle(&fixture.map), 0);
  EXPECT_FALSE(fixture.map.Holds(1));
  EXPECT_EQ(fixture.map.LeastInSync(), 1u);
  EXPECT_EQ(fixture.servers.recruits(), 0u) << "there is nobody";
}

TEST(ReplicaPlannerTest, AllDrainingServersKeepWhatNobodyTakes) {
  for (const uint32_t replicas : {1, 2}) {
    Fixture fixture(Nodes(2), 4, replicas);
    fixture.servers.Drain(1);
    fixture.servers.Drain(2);
    EXPECT_EQ(fixture.servers.Settle(&fixture.map), 0);
    EXPECT_TRUE(fixture.map.AllLed());
    EXPECT_EQ(fixture.map.Degraded(), 0u);
  }
}

TEST(ReplicaPlannerTest, AJoinedServerGetsItsShareAndThenThereIsRest) {
  for (const uint32_t replicas : {1, 2, 3}) {
    SCOPED_TRACE(replicas);
    Fixture fixture(Nodes(3), 24, replicas);
    fixture.servers.Add(MakeServer(4));
    const int plans = fixture.servers.Settle(&fixture.map);
    EXPECT_GT(plans, 0);
    EXPECT_LE(fixture.Spread(false), 1);
    EXPECT_LE(fixture.Spread(true), 1);
    EXPECT_EQ(fixture.map.Degraded(), 0u);
    EXPECT_EQ(fixture.servers.recruits(), 24 * replicas / 4)
        << "no more than its share is copied";
  }
}

TEST(ReplicaPlannerTest, AServerTakesPartInOneMoveAtATime) {
  Fixture fixture(Nodes(2), 12, 1);
  fixture.servers.Add(MakeServer(3));
  fixture.map.Plan(fixture.servers.Rooms(fixture.map), true,
                   absl::ZeroDuration());
  size_t recruits = 0;
  for (const PartitionRecord& record : fixture.map.Records()) {
    recruits += record.group.recruit.has_value();
  }
  EXPECT_EQ(recruits, 1u);
}

TEST(ReplicaPlannerTest, ADifferenceOfOneIsLeftAlone) {
  Fixture fixture(Nodes(2), 5, 1);
  EXPECT_EQ(fixture.servers.Settle(&fixture.map), 0);
}

TEST(ReplicaPlannerTest, RecruitsGoToOtherHosts) {
  Fixture fixture({MakeServer(1, "x"), MakeServer(2, "y"), MakeServer(3, "y"),
                   MakeServer(4, "x")},
                  8, 2);
  fixture.servers.Remove(2);
  fixture.map.LoseNode(MakeServer(2));
  fixture.servers.Obey(&fixture.map);
  EXPECT_GE(fixture.servers.Settle(&fixture.map), 0);
  for (const PartitionRecord& record : fixture.map.Records()) {
    ASSERT_EQ(record.group.members.size(), 2u);
    EXPECT_NE(record.group.members[0].host, record.group.members[1].host);
  }
}

TEST(ReplicaPlannerTest, CopiesOnOneHostPartWhenAnotherHostComes) {
  Fixture fixture({MakeServer(1, "x"), MakeServer(2, "x")}, 4, 2);
  EXPECT_EQ(fixture.servers.Settle(&fixture.map), 0);
  fixture.servers.Add(MakeServer(3, "y"));
  EXPECT_GT(fixture.servers.Settle(&fixture.map), 0);
  for (const PartitionRecord& record : fixture.map.Records()) {
    ASSERT_EQ(record.group.members.size(), 2u);
    EXPECT_NE(record.group.members[0].host, record.group.members[1].host);
  }
}

TEST(ReplicaPlannerTest, PrimariesAreEvenedOutByHandingOver) {
  // After a failover one of two servers leads everything.
  Fixture fixture(Nodes(2), 6, 2);
  fixture.servers.Remove(1);
  fixture.map.LoseNode(MakeServer(1));
  fixture.servers.Obey(&fixture.map);
  fixture.servers.Add(MakeServer(5));
  EXPECT_GT(fixture.servers.Settle(&fixture.map), 0);
  EXPECT_EQ(fixture.Held()[2].primaries, 3u);
  EXPECT_EQ(fixture.Held()[5].primaries, 3u);
  EXPECT_EQ(fixture.servers.hand_overs(), 3u);
}

TEST(ReplicaPlannerTest, ServersOfAnotherArithmeticAreNotUsed) {
  std::vector<Node> nodes = Nodes(3);
  for (Node& node : nodes) node.arithmetic = node.incarnation == 3 ? "y" : "x";
  PartitionMap map({.replicas = 2, .arithmetic = "x"},
                   Deal({nodes[0], nodes[1]}, 4, 2));
  ObedientServers servers;
  servers.Add(nodes[0]);
  servers.Add(nodes[2]);
  map.LoseNode(nodes[1]);
  servers.Obey(&map);
  EXPECT_GE(servers.Settle(&map), 0);
  EXPECT_FALSE(map.Holds(3));
  EXPECT_EQ(map.LeastInSync(), 1u);
}

// Servers come, drain and die at random: whatever is in the middle, it ends,
// with as many copies as can be, even, and nothing on a server that drains.
TEST(ReplicaPlannerTest, AlwaysComesToRest) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    uint64_t drawn = 0;
    const auto below = [&](uint64_t n) {
      return ToBelow(Draw(seed, {++drawn}), n);
    };
    const uint32_t replicas = 1 + below(3);
    const bool few_hosts = below(3) == 0;
    uint64_t last = 0;
    std::set<uint64_t> alive;
    std::set<uint64_t> draining;
    const auto make = [&] {
      ++last;
      alive.insert(last);
      return MakeServer(last, few_hosts ? absl::StrCat("h", last % 3) : "");
    };
    std::vector<Node> nodes;
    for (uint64_t n = 2 + below(4); n > 0; --n) nodes.push_back(make());
    Fixture fixture(nodes, 1 + below(20), replicas);
    for (int change = 0; change < 12 && !fixture.map.lost(); ++change) {
      const uint64_t any = *std::next(alive.begin(), below(alive.size()));
      switch (below(4)) {
        case 0:
        case 1:
          fixture.servers.Add(make());
          break;
        case 2:
          if (alive.size() - draining.size() < 3) break;
          fixture.servers.Drain(any);
          draining.insert(any);
          break;
        case 3:
          if (alive.size() - draining.size() < 3) break;
          alive.erase(any);
          draining.erase(any);
          fixture.servers.Remove(any);
          fixture.map.LoseNode(MakeServer(any));
          break;
      }
      for (uint64_t plans = below(6); plans > 0; --plans) {
        fixture.map.Plan(fixture.servers.Rooms(fixture.map), true,
                         absl::ZeroDuration());
        fixture.servers.Obey(&fixture.map);
      }
    }
    if (fixture.map.lost()) continue;  // With one copy, say.
    fixture.servers.Obey(&fixture.map);
    ASSERT_GE(fixture.servers.Settle(&fixture.map), 0);
    const size_t usable = alive.size() - draining.size();
    for (const PartitionRecord& record : fixture.map.Records()) {
      EXPECT_EQ(record.group.members.size(),
                std::min<size_t>(replicas, usable));
    }
    for (const uint64_t server : draining) {
      EXPECT_FALSE(fixture.map.Holds(server));
    }
    if (few_hosts) continue;  // Other hosts come before an even share.
    EXPECT_LE(fixture.Spread(false), 1);
  }
}

}  // namespace
}  // namespace seraph
