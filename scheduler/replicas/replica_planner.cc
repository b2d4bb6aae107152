#include "scheduler/replicas/replica_planner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace seraph {
namespace {

// What a server holds of the job, as it will be when all that is under way, or
// planned, is done.
struct Share {
  int replicas = 0;
  int primaries = 0;
  bool moving = false;  // Takes part in a step that evens out.
};

class Planner {
 public:
  Planner(const PlannerOptions& options,
          absl::Span<const PartitionGroup> groups,
          absl::Span<const ServerRoom> servers,
          absl::Span<const PlannedMove> moves)
      : options_(options), groups_(groups), quiet_(groups.size()) {
    for (const ServerRoom& server : servers) {
      rooms_[server.node.incarnation] = &server;
      usable_ += !server.draining;
    }
    for (const PlannedMove& move : moves) leaving_[move.group] = move.leaving;
    for (size_t g = 0; g < groups_.size(); ++g) Count(g);
    wanted_ = std::min<size_t>(options_.replicas, usable_);
  }

  std::vector<PlanStep> Plan() {
    for (size_t g = 0; g < groups_.size(); ++g) Mend(g);
    for (size_t g = 0; g < groups_.size(); ++g) SpreadOverHosts(g);
    while (EvenOutReplicas()) {
    }
    while (EvenOutPrimaries()) {
    }
    return std::move(steps_);
  }

 private:
  void Count(size_t g) {
    const PartitionGroup& group = groups_[g];
    const GroupRecord& record = group.record();
    const bool in_the_middle =
        record.recruit.has_value() || group.handing_over();
    quiet_[g] = group.settled() && !in_the_middle;
    recruits_ += record.recruit.has_value();
    const uint64_t leaving = Leaving(g);
    for (const Node& member : record.members) {
      if (member.incarnation != leaving) ++shares_[member.incarnation].replicas;
    }
    if (leaving != 0) shares_[leaving].moving = true;
    if (record.recruit.has_value()) {
      Share& share = shares_[record.recruit->incarnation];
      ++share.replicas;
      share.moving = true;
    }
    if (group.handing_over()) {
      for (const Node& member : record.members) {
        shares_[member.incarnation].moving = true;
      }
    }
    if (record.primary != 0) ++shares_[record.primary].primaries;
  }

  // Who of the group's members makes room for another one; 0: nobody.
  uint64_t Leaving(size_t g) const {
    const auto it = leaving_.find(g);
    if (it == leaving_.end() || !groups_[g].IsMember(it->second)) return 0;
    return it->second;
  }

  bool Drains(const Node& node) const {
    const auto room = rooms_.find(node.incarnation);
    return room != rooms_.end() && room->second->draining;
  }

  bool MayTake(const ServerRoom& room) const {
    return !room.draining && !room.avoided;
  }

  bool HasRecruitLeft() const { return recruits_ < options_.recruits_at_once; }

  // As many members as wanted, none of them on a server that drains.
  void Mend(size_t g) {
    if (!quiet_[g] || usable_ == 0) return;
    const PartitionGroup& group = groups_[g];
    const std::vector<Node>& members = group.record().members;
    const size_t draining =
        std::count_if(members.begin(), members.end(),
                      [&](const Node& node) { return Drains(node); });
    if (members.size() - draining < wanted_) {
      if (const ServerRoom* server = ChooseRecruit(g, 0)) {
        Recruit(g, server->node, 0);
      }
      return;
    }
    if (draining > 0) {
      // The primary last: it can lead until then.
      const auto it =
          std::find_if(members.begin(), members.end(), [&](const Node& node) {
            return Drains(node) && (draining == 1 ||
                                    node.incarnation != group.record().primary);
          });
      return MakeLeave(g, it->incarnation);
    }
    if (members.size() > options_.replicas) MakeLeave(g, ChooseSurplus(g));
  }

  // Hands over first where it is the primary.
  void MakeLeave(size_t g, uint64_t leaving) {
    const GroupRecord& record = groups_[g].record();
    if (record.primary != leaving) {
      --shares_[leaving].replicas;
      return Take(g, PlanLeaveOut{g, leaving});
    }
    if (options_.resting.contains(g)) return;
    const Node* heir = nullptr;
    for (const Node& member : record.members) {
      if (member.incarnation == leaving || Drains(member)) continue;
      if (heir == nullptr || Primaries(member) < Primaries(*heir)) {
        heir = &member;
      }
    }
    if (heir != nullptr) HandOver(g, heir->incarnation);
  }

  uint64_t ChooseSurplus(size_t g) {
    if (const uint64_t leaving = Leaving(g)) return leaving;
    const GroupRecord& record = groups_[g].record();
    const auto rank = [&](const Node& node) {
      return std::make_tuple(Neighbours(g, node.host, 0) > 1,
                             shares_[node.incarnation].replicas,
                             node.incarnation != record.primary, node.name);
    };
    return std::max_element(
               record.members.begin(), record.members.end(),
               [&](const Node& a, const Node& b) { return rank(a) < rank(b); })
        ->incarnation;
  }

  // Members on that host, without `leaving`.
  int Neighbours(size_t g, const std::string& host, uint64_t leaving) const {
    const std::vector<Node>& members = groups_[g].record().members;
    return std::count_if(members.begin(), members.end(), [&](const Node& node) {
      return node.host == host && node.incarnation != leaving;
    });
  }

  const ServerRoom* ChooseRecruit(size_t g, uint64_t leaving) {
    if (!HasRecruitLeft()) return nullptr;
    const auto rank = [&](const ServerRoom& room) {
      return std::make_tuple(Neighbours(g, room.node.host, leaving),
                             shares_[room.node.incarnation].replicas, room.held,
                             room.node.name);
    };
    const ServerRoom* best = nullptr;
    for (const auto& [incarnation, room] : rooms_) {
      if (!MayTake(*room) || groups_[g].IsMember(incarnation)) continue;
      if (best == nullptr || rank(*room) < rank(*best)) best = room;
    }
    return best;
  }

  // Two members on one host although another host is there.
  void SpreadOverHosts(size_t g) {
    const std::vector<Node>& members = groups_[g].record().members;
    if (!quiet_[g] || members.size() != wanted_) return;
    const GroupRecord& record = groups_[g].record();
    const Node* twin = nullptr;
    for (const Node& member : members) {
      if (Neighbours(g, member.host, 0) < 2) continue;
      if (twin == nullptr || member.incarnation != record.primary) {
        twin = &member;
      }
    }
    if (twin == nullptr) return;
    const ServerRoom* server = ChooseRecruit(g, twin->incarnation);
    if (server == nullptr ||
        Neighbours(g, server->node.host, twin->incarnation) > 0 ||
        IsMoving(server->node.incarnation) || IsMoving(twin->incarnation)) {
      return;
    }
    Move(g, twin->incarnation, server->node);
  }

  // The fuller server gives one to the emptier one; false if nothing is to be
  // evened out, or nothing can.
  bool EvenOutReplicas() {
    if (!HasRecruitLeft()) return false;
    std::vector<const ServerRoom*> by_share;
    for (const auto& [incarnation, room] : rooms_) {
      if (MayTake(*room) && !IsMoving(incarnation)) by_share.push_back(room);
    }
    std::sort(
        by_share.begin(), by_share.end(),
        [&](const ServerRoom* a, const ServerRoom* b) {
          return std::make_tuple(Replicas(a->node), a->held, a->node.name) <
                 std::make_tuple(Replicas(b->node), b->held, b->node.name);
        });
    for (auto full = by_share.rbegin(); full != by_share.rend(); ++full) {
      for (const ServerRoom* empty : by_share) {
        if (Replicas((*full)->node) - Replicas(empty->node) < 2) break;
        const std::optional<size_t> g = ChooseMove((*full)->node, empty->node);
        if (!g.has_value()) continue;
        Move(*g, (*full)->node.incarnation, empty->node);
        return true;
      }
    }
    return false;
  }

  std::optional<size_t> ChooseMove(const Node& from, const Node& to) {
    const bool lead = Primaries(from) > Primaries(to);
    std::optional<size_t> found;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const PartitionGroup& group = groups_[g];
      if (!quiet_[g] || group.record().members.size() != wanted_) continue;
      if (!group.IsMember(from.incarnation) || group.IsMember(to.incarnation)) {
        continue;
      }
      if (Neighbours(g, to.host, from.incarnation) >
          Neighbours(g, from.host, from.incarnation)) {
        continue;
      }
      if ((group.record().primary == from.incarnation) == lead) return g;
      if (!found.has_value()) found = g;
    }
    return found;
  }

  bool EvenOutPrimaries() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const GroupRecord& record = groups_[g].record();
      if (!quiet_[g] || Leaving(g) != 0 || IsMoving(record.primary)) continue;
      if (options_.resting.contains(g)) continue;
      for (const Node& member : record.members) {
        const auto room = rooms_.find(member.incarnation);
        if (room == rooms_.end() || room->second->draining) continue;
        if (IsMoving(member.incarnation)) continue;
        if (shares_[record.primary].primaries - Primaries(member) < 2) continue;
        shares_[record.primary].moving = true;
        shares_[member.incarnation].moving = true;
        HandOver(g, member.incarnation);
        return true;
      }
    }
    return false;
  }

  void Move(size_t g, uint64_t leaving, const Node& to) {
    shares_[leaving].moving = true;
    shares_[to.incarnation].moving = true;
    --shares_[leaving].replicas;
    Recruit(g, to, leaving);
  }

  void Recruit(size_t g, const Node& server, uint64_t leaving) {
    ++recruits_;
    ++shares_[server.incarnation].replicas;
    Take(g, PlanRecruit{g, server, leaving});
  }

  void HandOver(size_t g, uint64_t to) {
    --shares_[groups_[g].record().primary].primaries;
    ++shares_[to].primaries;
    Take(g, PlanHandOver{g, to});
  }

  void Take(size_t g, PlanStep step) {
    quiet_[g] = false;
    steps_.push_back(std::move(step));
  }

  int Replicas(const Node& node) { return shares_[node.incarnation].replicas; }
  int Primaries(const Node& node) {
    return shares_[node.incarnation].primaries;
  }
  bool IsMoving(uint64_t incarnation) { return shares_[incarnation].moving; }

  const PlannerOptions& options_;
  const absl::Span<const PartitionGroup> groups_;
  std::map<uint64_t, const ServerRoom*> rooms_;
  size_t usable_ = 0;
  size_t wanted_ = 0;
  std::map<size_t, uint64_t> leaving_;  // By group.
  std::map<uint64_t, Share> shares_;
  std::vector<bool> quiet_;
  uint32_t recruits_ = 0;
  std::vector<PlanStep> steps_;
};

}  // namespace

std::vector<PlanStep> PlanReplicas(const PlannerOptions& options,
                                   absl::Span<const PartitionGroup> groups,
                                   absl::Span<const ServerRoom> servers,
                                   absl::Span<const PlannedMove> moves) {
  return Planner(options, groups, servers, moves).Plan();
}

}  // namespace seraph
