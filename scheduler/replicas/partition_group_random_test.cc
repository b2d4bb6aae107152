// PartitionGroup against model servers that lose, repeat and delay messages,
// crash, and are called dead while they live.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/base/planted_bug.h"
#include "gtest/gtest.h"
#include "scheduler/replicas/model_server.h"
#include "scheduler/replicas/partition_group.h"

namespace seraph {
namespace {

using Answer = ModelServer::Answer;

struct World {
  World(uint64_t seed, uint32_t servers, uint32_t replicas)
      : seed(seed), replicas(replicas) {
    std::vector<Node> members;
    for (uint32_t i = 0; i < servers; ++i) {
      const Node node = Start();
      if (members.size() < replicas) members.push_back(node);
    }
    group = std::make_unique<PartitionGroup>(0, 0, members);
    stored = group->record();
    for (const Node& node : members) {
      ReplicaOrder order;
      order.epoch = 1;
      order.primary = members.front();
      order.members = members;
      order.duty =
          node == members.front() ? ReplicaDuty::kLead : ReplicaDuty::kFollow;
      machines.at(node.incarnation)->Create(order);
    }
  }

  // Random numbers
  // --------------------------------------------------------------

  uint64_t Below(uint64_t n) { return ToBelow(Draw(seed, {++drawn}), n); }
  bool Chance(double p) { return ToUnit(Draw(seed, {++drawn})) < p; }
  template <typename Map>
  auto Any(Map& map) {
    return std::next(map.begin(), Below(map.size()));
  }

  // Machines
  // --------------------------------------------------------------------

  Node Start() {
    Node node;
    node.incarnation = ++last_incarnation;
    node.name = absl::StrCat("s", node.incarnation);
    machines[node.incarnation] =
        std::make_unique<ModelServer>(node.incarnation);
    known.insert({node.incarnation, node});
    return node;
  }

  void Crash(uint64_t incarnation) { machines.erase(incarnation); }

  bool Lives(uint64_t incarnation) const {
    return machines.contains(incarnation);
  }

  // The scheduler
  // -----------------------------------------------------------------

  struct OpenOrder {
    enum class Kind { kDuty, kRecruit, kHandOver } kind = Kind::kDuty;
    uint64_t to = 0;
    uint64_t epoch = 0;
    ReplicaOrder duty;
    Node recruit;
  };

  // Stores, then sends: the record first.
  void Do(const GroupSteps& steps) {
    if (steps.record_changed) {
      const GroupRecord& record = group->record();
      EXPECT_GE(record.epoch, stored.epoch);
      recruited += record.members.size() > stored.members.size();
      promoted += record.primary != 0 && stored.primary == 0;
      stored = group->record();
    } else {
      EXPECT_EQ(stored, group->record()) << "a change that is not stored";
    }
    for (const DutyOrder& duty : steps.duties) {
      orders[++last_order] = {OpenOrder::Kind::kDuty,
                              duty.to.incarnation,
                              duty.order.epoch,
                              duty.order,
                              {}};
    }
    if (steps.recruit.has_value()) {
      orders[++last_order] = {OpenOrder::Kind::kRecruit,
                              steps.recruit->primary.incarnation,
                              steps.recruit->epoch,
                              {},
                              steps.recruit->recruit};
    }
    if (steps.hand_over.has_value()) {
      orders[++last_order] = {OpenOrder::Kind::kHandOver,
                              steps.hand_over->primary.incarnation,
                              steps.hand_over->epoch,
                              {},
                              {}};
    }
  }

  template <typename Event>
  void Tell(Event event) {
    GroupSteps steps;
    event(&steps);
    Do(steps);
  }

  // Orders arrive any number of times while they are open, their answers too.
  void CarryOut(uint64_t id, bool lose) {
    const auto it = orders.find(id);
    const OpenOrder order = it->second;
    const auto machine = machines.find(order.to);
    if (machine == machines.end()) {
      if (!known.contains(order.to)) orders.erase(it);
      return;
    }
    Reply reply{id, order, {}, Answer::kDone};
    switch (order.kind) {
      case OpenOrder::Kind::kDuty:
        reply.state = machine->second->Configure(order.duty);
        break;
      case OpenOrder::Kind::kRecruit:
        reply.answer =
            machine->second->Recruit(order.epoch, order.recruit.incarnation);
        break;
      case OpenOrder::Kind::kHandOver:
        reply.answer = machine->second->HandOver(order.epoch);
        break;
    }
    if (reply.answer != Answer::kNotYet && !lose) replies.push_back(reply);
  }

  struct Reply {
    uint64_t id = 0;
    OpenOrder order;
    ReplicaState state;
    Answer answer = Answer::kDone;
  };

  void TakeReply(size_t i, bool again) {
    const Reply reply = replies[i];
    if (!again) replies.erase(replies.begin() + i);
    orders.erase(reply.id);
    Tell([&](GroupSteps* out) {
      const uint64_t epoch = reply.order.epoch;
      switch (reply.order.kind) {
        case OpenOrder::Kind::kDuty:
          EXPECT_LE(reply.state.epoch, group->record().epoch);
          return group->TakeState(reply.order.to, reply.state, out);
        case OpenOrder::Kind::kRecruit:
          if (reply.answer == Answer::kRefused) {
            return group->FailRecruit(epoch, out);
          }
          return group->TakeRecruited(epoch, reply.order.recruit.incarnation,
                                      out);
        case OpenOrder::Kind::kHandOver:
          if (reply.answer == Answer::kRefused) {
            return group->FailHandOver(epoch);
          }
          return group->TakeHandedOver(epoch, out);
      }
    });
  }

  void CallDead(uint64_t incarnation) {
    known.erase(incarnation);
    if (Lives(incarnation)) banished.insert(incarnation);
    std::erase_if(orders, [&](const auto& order) {
      return order.second.to == incarnation;
    });
    Tell([&](GroupSteps* out) { group->LoseNodes({incarnation}, out); });
  }

  // One that was called dead registers again.
  void Return(uint64_t incarnation) {
    banished.erase(incarnation);
    if (!Lives(incarnation)) return;
    Node node;
    node.incarnation = incarnation;
    node.name = absl::StrCat("s", incarnation);
    known.insert({incarnation, node});
    if (machines.at(incarnation)->epoch() == 0) return;
    Tell([&](GroupSteps* out) { group->FindHeld(node, out); });
  }

  void Restart() {
    orders.clear();
    group = std::make_unique<PartitionGroup>(0, 0, stored);
    Tell([&](GroupSteps* out) { group->Resume(out); });
  }

  std::optional<Node> Candidate() {
    std::vector<Node> candidates;
    for (const auto& [incarnation, node] : known) {
      if (!group->IsMember(incarnation)) candidates.push_back(node);
    }
    if (candidates.empty()) return std::nullopt;
    return candidates[Below(candidates.size())];
  }

  // The primary complains of a member or recruit; the scheduler leaves it out.
  void Complain() {
    for (const auto& [incarnation, machine] : machines) {
      if (!known.contains(incarnation) || !machine->leads()) continue;
      if (incarnation != group->record().primary) continue;
      for (const uint64_t peer : machine->Awaited()) {
        if (machine->epoch() != group->record().epoch) break;
        return Tell([&](GroupSteps* out) { group->LeaveOut({peer}, out); });
      }
    }
  }

  // Messages
  // ----------------------------------------------------------------------

  void Deliver(size_t i, bool again, bool lose) {
    const ModelMessage message = messages[i];
    if (!again) messages.erase(messages.begin() + i);
    const auto to = machines.find(message.to);
    if (lose || to == machines.end()) return;
    to->second->Take(message, &messages);
    Watch();
  }

  // What is promised
  // --------------------------------------------------------------

  // Looks at everything that is acknowledged now.
  void Watch() {
    for (const auto& [incarnation, machine] : machines) {
      const uint64_t number = machine->Acknowledged();
      const ModelLog& log = machine->log();
      if (machine->has_divergent()) {
        // One of the two is thrown away, whatever it has.
        Break(absl::StrCat("s", incarnation, " has a member that diverges"));
      }
      if (number > 0 && number < acknowledged.size() &&
          !ContainsAcknowledged(log, number)) {
        Break(absl::StrCat("s", incarnation, " acknowledges another log"));
      }
      if (number > acknowledged.size()) {
        if (!ContainsAcknowledged(log, acknowledged.size())) {
          Break(absl::StrCat("s", incarnation,
                             " acknowledges without what was acknowledged"));
        }
        acknowledged.assign(log.begin(), log.begin() + number);
      }
    }
    // The scheduler's primary has all of it, once it leads.
    const auto machine = machines.find(group->record().primary);
    if (machine != machines.end() && machine->second->leads() &&
        machine->second->epoch() == group->record().epoch &&
        !ContainsAcknowledged(machine->second->log(), acknowledged.size())) {
      Break(absl::StrCat("s", machine->first, " leads and has lost ",
                         acknowledged.size(), " acknowledged"));
    }
  }

  bool ContainsAcknowledged(const ModelLog& log, size_t number) const {
    return log.size() >= number &&
           std::equal(acknowledged.begin(), acknowledged.begin() + number,
                      log.begin());
  }

  void Break(const std::string& what) {
    if (broken.empty()) broken = what;
  }

  // Runs
  // ----------------------------------------------------------------------------

  void Push() {
    for (const auto& [incarnation, machine] : machines) {
      if (machine->leads() && Chance(0.5)) machine->Push(++last_id);
    }
    Watch();
  }

  void Tick() {
    for (const auto& [incarnation, machine] : machines) {
      machine->Tick(&messages);
    }
  }

  // One step of a time in which everything may go wrong.
  void Step() {
    const uint64_t what = Below(1000);
    if (what < 400) {
      if (messages.empty()) return Tick();
      Deliver(Below(messages.size()), Chance(0.15), Chance(0.1));
    } else if (what < 580) {
      if (!orders.empty()) CarryOut(Any(orders)->first, Chance(0.1));
    } else if (what < 760) {
      if (!replies.empty()) TakeReply(Below(replies.size()), Chance(0.2));
    } else if (what < 830) {
      Push();
    } else if (what < 950) {
      Tick();
    } else if (what < 954) {
      if (faults > 0 && machines.size() > 1) {
        --faults;
        Crash(Any(machines)->first);
        if (Chance(0.5)) Start();
      }
    } else if (what < 966) {
      NoticeDeaths();
    } else if (what < 968) {
      if (faults > 0 && known.size() > 1) {
        --faults;
        CallDead(Any(known)->first);
      }
    } else if (what < 972) {
      if (!banished.empty()) Return(*Any(banished));
    } else if (what < 988) {
      // A little more than is wanted: as moves do.
      if (group->record().members.size() > replicas) return;
      if (const std::optional<Node> node = Candidate()) {
        Tell([&](GroupSteps* out) { group->Recruit(*node, out); });
      }
    } else if (what < 993) {
      Move();
    } else if (what < 994) {
      Complain();
    } else if (what < 997) {
      if (!machines.empty()) Any(machines)->second->EndHold();
    } else {
      Restart();
    }
    if (messages.size() > 40) {
      messages.erase(messages.begin() + Below(messages.size()));
    }
    Watch();
  }

  void NoticeDeaths() {
    for (const auto& [incarnation, node] : known) {
      if (!Lives(incarnation)) return CallDead(incarnation);
    }
  }

  void Move() {
    const std::vector<Node> members = group->record().members;
    if (members.size() < 2) return;
    const Node& member = members[Below(members.size())];
    Tell([&](GroupSteps* out) {
      if (members.size() > replicas && Chance(0.5)) {
        group->LeaveOut({member.incarnation}, out);
      } else if (member.incarnation != group->record().primary) {
        group->HandOverTo(member.incarnation, out);
      }
    });
  }

  // Nothing fails any more. Whether the group comes to stand as it should, and
  // takes a push.
  bool ComesToRest() {
    while (!banished.empty()) Return(*banished.begin());
    const uint64_t id = ++last_id;
    bool pushed = false;
    for (int round = 0; round < 400; ++round) {
      NoticeDeaths();
      if (group->lost()) return true;
      Tick();
      while (!messages.empty()) Deliver(Below(messages.size()), false, false);
      for (const auto& [order, open] : std::map(orders)) {
        CarryOut(order, false);
      }
      while (!replies.empty()) TakeReply(0, false);
      if (round % 20 == 19) {  // A lease.
        Complain();
        for (const auto& [incarnation, machine] : machines) machine->EndHold();
        group->FailHandOver(group->record().epoch);
        std::erase_if(orders, [](const auto& order) {
          return order.second.kind == OpenOrder::Kind::kHandOver;
        });
      }
      const bool enough = group->record().members.size() >=
                          std::min<size_t>(replicas, known.size());
      if (!enough) {
        if (const std::optional<Node> node = Candidate()) {
          Tell([&](GroupSteps* out) { group->Recruit(*node, out); });
        }
      }
      const auto machine = machines.find(group->record().primary);
      if (machine == machines.end()) continue;
      if (!pushed) pushed = machine->second->Push(id);
      Watch();
      if (pushed && enough && group->settled() &&
          !group->record().recruit.has_value() && !group->handing_over() &&
          !acknowledged.empty() && acknowledged.back().id == id) {
        return true;
      }
      // What a deposed primary took, and did not acknowledge, may be gone.
      if (pushed && round % 50 == 49) pushed = false;
    }
    return false;
  }

  // Of a group that is stuck.
  std::string Describe() const {
    const GroupRecord& record = group->record();
    std::string text = absl::StrCat("stuck in epoch ", record.epoch,
                                    group->settled() ? "" : ", not settled",
                                    group->handing_over() ? ", hands over" : "",
                                    ", ", acknowledged.size(), " acknowledged",
                                    ", primary ", record.primary, ", members");
    for (const Node& member : record.members) {
      absl::StrAppend(&text, " ", member.incarnation);
    }
    if (record.recruit.has_value()) {
      absl::StrAppend(&text, ", recruit ", record.recruit->incarnation);
    }
    for (const auto& [incarnation, machine] : machines) {
      absl::StrAppend(&text, "; s", incarnation, " in epoch ", machine->epoch(),
                      machine->leads() ? " leads" : "",
                      machine->holds() ? " holds " : " without ",
                      machine->log().size());
      for (const uint64_t peer : machine->Awaited()) {
        absl::StrAppend(&text, " awaits ", peer);
      }
    }
    for (const auto& [id, order] : orders) {
      absl::StrAppend(&text, "; order to ", order.to, " of ", order.epoch);
    }
    return text;
  }

  const uint64_t seed;
  const uint32_t replicas;
  uint64_t drawn = 0;
  int faults = 3;
  uint64_t recruited = 0;
  uint64_t promoted = 0;

  std::map<uint64_t, std::unique_ptr<ModelServer>> machines;  // That live.
  uint64_t last_incarnation = 0;
  uint64_t last_id = 0;
  std::vector<ModelMessage> messages;
  ModelLog acknowledged;
  std::string broken;

  std::unique_ptr<PartitionGroup> group;
  GroupRecord stored;
  std::map<uint64_t, Node> known;  // Alive, for all that the scheduler knows.
  std::set<uint64_t> banished;     // Alive, and called dead.
  std::map<uint64_t, OpenOrder> orders;
  uint64_t last_order = 0;
  std::vector<Reply> replies;
};

// What the runs came to.
struct Totals {
  uint64_t lost = 0;
  uint64_t epochs = 0;
  uint64_t acknowledged = 0;
  uint64_t recruited = 0;
  uint64_t promoted = 0;
};

// What went wrong; "" if nothing.
std::string RunSeed(uint64_t seed, Totals* totals) {
  const uint32_t replicas = std::min<uint32_t>(3, 1 + Draw(seed, {1}) % 8);
  const uint32_t servers = replicas + Draw(seed, {2}) % 3;
  World world(seed, servers, replicas);
  const int steps = 100 + Draw(seed, {3}) % 1500;
  for (int i = 0; i < steps && world.broken.empty(); ++i) {
    if (world.group->lost()) break;
    world.Step();
  }
  totals->lost += world.group->lost();
  totals->epochs += world.stored.epoch;
  totals->acknowledged += world.acknowledged.size();
  totals->recruited += world.recruited;
  totals->promoted += world.promoted;
  if (world.group->lost() || !world.broken.empty()) return world.broken;
  if (!world.ComesToRest()) {
    return world.Describe();
  }
  return world.broken;
}

constexpr uint64_t kSeeds = 10'000;

uint64_t Variable(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// SERAPH_FIRST_SEED and SERAPH_LAST_SEED: other ones than those of every day.
TEST(PartitionGroupRandomTest, LosesNothingAndComesToRest) {
  const uint64_t first = Variable("SERAPH_FIRST_SEED", 1);
  const uint64_t last = Variable("SERAPH_LAST_SEED", kSeeds);
  Totals totals;
  for (uint64_t seed = first; seed <= last; ++seed) {
    ASSERT_EQ(RunSeed(seed, &totals), "") << "seed " << seed;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  if (last - first + 1 < kSeeds) return;
  // The runs are about something.
  EXPECT_LT(totals.lost, (last - first) / 2);
  EXPECT_GT(totals.epochs, 4 * kSeeds);
  EXPECT_GT(totals.acknowledged, 10 * kSeeds);
  EXPECT_GT(totals.recruited, kSeeds / 2);
  EXPECT_GT(totals.promoted, kSeeds / 2);
}

#ifdef SERAPH_PLANTED_BUGS
// The seed of the first run that goes wrong; 0: none does.
uint64_t FirstBroken(PlantedBug bug) {
  planted_bug = bug;
  uint64_t found = 0;
  for (uint64_t seed = 1; seed <= kSeeds && found == 0; ++seed) {
    Totals totals;
    const std::string what = RunSeed(seed, &totals);
    if (what.empty()) continue;
    found = seed;
    printf("seed %d: %s\n", static_cast<int>(seed), what.c_str());
  }
  planted_bug = PlantedBug::kNone;
  return found;
}

TEST(PartitionGroupRandomTest, FindsAPromotionWithoutCollecting) {
  EXPECT_NE(FirstBroken(PlantedBug::kPromoteWithoutCollecting), 0u);
}

TEST(PartitionGroupRandomTest, FindsARecruitWhoseDeathBlocks) {
  EXPECT_NE(FirstBroken(PlantedBug::kRecruitDeathBlocks), 0u);
}
#endif

}  // namespace
}  // namespace seraph
