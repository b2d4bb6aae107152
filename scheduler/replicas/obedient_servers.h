// Servers that do at once what a PartitionMap orders: for tests of where it
// puts replicas.
#ifndef SERAPH_SCHEDULER_REPLICAS_OBEDIENT_SERVERS_H_
#define SERAPH_SCHEDULER_REPLICAS_OBEDIENT_SERVERS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/cluster/node.h"
#include "scheduler/job/order.h"
#include "scheduler/replicas/partition_map.h"

namespace seraph {

inline Node MakeServer(uint64_t incarnation, std::string host = "") {
  Node node;
  node.incarnation = incarnation;
  node.name = "s" + std::to_string(incarnation);
  node.host = host.empty() ? node.name : std::move(host);
  return node;
}

class ObedientServers {
 public:
  void Add(const Node& node) { rooms_[node.incarnation].node = node; }
  void Remove(uint64_t incarnation) { rooms_.erase(incarnation); }
  void Drain(uint64_t incarnation) { rooms_.at(incarnation).draining = true; }

  std::vector<ServerRoom> Rooms(const PartitionMap& map) const {
    std::map<uint64_t, HeldReplicas> held;
    map.AddHeld(&held);
    std::vector<ServerRoom> rooms;
    for (const auto& [incarnation, room] : rooms_) {
      rooms.push_back(room);
      const HeldReplicas& here = held[incarnation];
      rooms.back().held = here.primaries + here.backups;
    }
    return rooms;
  }

  // Carries out the map's work and what follows from it.
  void Obey(PartitionMap* map) {
    while (true) {
      const ReplicaWork work = map->TakeWork(nullptr);
      if (work.orders.empty()) return;
      for (const ReplicaWork::To& order : work.orders) Carry(order, map);
    }
  }

  // Plans and obeys until nothing is left to do; how many plans that took, or
  // -1 if it does not end.
  int Settle(PartitionMap* map, absl::Duration now = absl::ZeroDuration()) {
    for (int plans = 0; plans < 10'000; ++plans) {
      map->Plan(Rooms(*map), /*changes_allowed=*/true, now);
      ReplicaWork work = map->TakeWork(nullptr);
      if (work.orders.empty()) return plans;
      for (const ReplicaWork::To& order : work.orders) Carry(order, map);
      Obey(map);
    }
    return -1;
  }

  uint64_t recruits() const { return recruits_; }
  uint64_t hand_overs() const { return hand_overs_; }

 private:
  void Carry(const ReplicaWork::To& order, PartitionMap* map) {
    if (!rooms_.contains(order.node.incarnation)) return;
    if (const auto* configure = std::get_if<ConfigureReplicas>(&order.body)) {
      Configured configured;
      configured.incarnation = order.node.incarnation;
      for (const ReplicaOrder& piece : configure->replicas) {
        configured.replicas.push_back({.table = piece.table,
                                       .partition = piece.partition,
                                       .epoch = piece.epoch,
                                       .duty = piece.duty});
      }
      (void)map->TakeConfigured(configured);
    } else if (const auto* recruit = std::get_if<RecruitReplica>(&order.body)) {
      ++recruits_;
      map->TakeRecruited(*recruit,
                         {recruit->epoch, recruit->recruit.incarnation});
    } else {
      ++hand_overs_;
      map->TakeHandedOver(std::get<HandOver>(order.body));
    }
  }

  std::map<uint64_t, ServerRoom> rooms_;  // By incarnation.
  uint64_t recruits_ = 0;
  uint64_t hand_overs_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_REPLICAS_OBEDIENT_SERVERS_H_
