#include "scheduler/replicas/partition_map.h"

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/cluster/replica.h"

namespace seraph {

PartitionMap::PartitionMap(const ReplicaOptions& options,
                           absl::Span<const PartitionPlacement> placements)
    : options_(options) {
  for (const PartitionPlacement& placement : placements) {
    std::vector<Node> members = {placement.primary};
    members.insert(members.end(), placement.backups.begin(),
                   placement.backups.end());
    groups_.emplace_back(placement.table, placement.partition,
                         std::move(members));
    ranges_.push_back(placement.range);
  }
}

PartitionMap::PartitionMap(const ReplicaOptions& options,
                           absl::Span<const PartitionRecord> records)
    : options_(options) {
  for (const PartitionRecord& record : records) {
    groups_.emplace_back(record.table, record.partition, record.group);
    ranges_.push_back(record.range);
  }
}

ReplicaWork PartitionMap::TakeWork(const std::shared_ptr<const JobPlan>& plan) {
  ReplicaWork work;
  work.store = std::exchange(store_, false);
  work.placements_changed = std::exchange(placements_changed_, false);
  work.lost = lost();
  for (auto& [incarnation, duties] : duties_) {
    work.orders.push_back({std::move(duties.first),
                           ConfigureReplicas{plan, std::move(duties.second)}});
  }
  duties_.clear();
  for (ReplicaWork::To& to : to_primaries_) {
    work.orders.push_back(std::move(to));
  }
  to_primaries_.clear();
  return work;
}

void PartitionMap::Note(const GroupSteps& steps, const PartitionGroup& group) {
  store_ |= steps.record_changed;
  placements_changed_ |= steps.placement_changed;
  for (const DutyOrder& duty : steps.duties) {
    auto& [node, orders] = duties_[duty.to.incarnation];
    node = duty.to;
    std::erase_if(orders, [&](const ReplicaOrder& older) {
      return older.table == group.table() &&
             older.partition == group.partition();
    });
    orders.push_back(duty.order);
  }
  if (steps.recruit.has_value()) {
    to_primaries_.push_back(
        {steps.recruit->primary,
         RecruitReplica{group.table(), group.partition(), steps.recruit->epoch,
                        steps.recruit->recruit}});
  }
  if (steps.hand_over.has_value()) {
    to_primaries_.push_back(
        {steps.hand_over->primary,
         HandOver{group.table(), group.partition(), steps.hand_over->epoch}});
  }
}

void PartitionMap::Resume() {
  for (PartitionGroup& group : groups_) {
    GroupSteps steps;
    group.Resume(&steps);
    Note(steps, group);
  }
  SpreadChoices();
}

void PartitionMap::LoseNode(const Node& server) {
  duties_.erase(server.incarnation);
  std::erase_if(to_primaries_, [&](const ReplicaWork::To& to) {
    return to.node.incarnation == server.incarnation;
  });
  avoided_.erase(server.incarnation);
  for (PartitionGroup& group : groups_) {
    GroupSteps steps;
    group.LoseNodes({server.incarnation}, &steps);
    Note(steps, group);
  }
  SpreadChoices();
}

void PartitionMap::Complain(uint64_t from, absl::Span<const uint64_t> silent,
                            const SilentLinks& links, absl::Duration now) {
  for (PartitionGroup& group : groups_) {
    const GroupRecord& record = group.record();
    if (record.primary != from) continue;
    // Those that it waits for, and the backups with a link that is silent.
    std::vector<uint64_t> accused;
    std::vector<uint64_t> backups;
    std::vector<uint64_t> linked;
    for (const uint64_t peer : silent) {
      if (peer == from) continue;
      if (group.IsMember(peer) || group.IsRecruit(peer)) {
        accused.push_back(peer);
      }
    }
    if (accused.empty()) continue;
    for (const Node& member : record.members) {
      if (member.incarnation == from) continue;
      backups.push_back(member.incarnation);
      if (links.Between(from, member.incarnation)) {
        linked.push_back(member.incarnation);
      }
    }
    const bool all = !backups.empty() && linked.size() == backups.size();
    const bool primary_goes =
        all && (backups.size() > 1 ||
                links.Count(from) > links.Count(backups.front()));
    if (primary_goes) accused = {from};
    GroupSteps steps;
    group.LeaveOut(accused, &steps);
    Note(steps, group);
    for (const uint64_t gone : accused) Avoid(gone, now);
  }
  SpreadChoices();
}

void PartitionMap::Avoid(uint64_t incarnation, absl::Duration now) {
  const absl::Duration first = options_.pause_after_complaint;
  Pause& pause = avoided_[incarnation];
  if (now < pause.until) return;  // One complaint concerns many partitions.
  pause.length = pause.length == absl::ZeroDuration()
                     ? first
                     : std::min(2 * pause.length, 16 * first);
  pause.until = now + pause.length;
}

absl::Status PartitionMap::CheckEpoch(absl::string_view who, uint64_t epoch,
                                      const PartitionGroup& group) {
  if (epoch <= group.record().epoch) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      who, " has seen epoch ", epoch, " of partition ", group.partition(),
      " of table ", group.table(), ", of which this scheduler knows only ",
      group.record().epoch, ": its state is an old one"));
}

absl::Status PartitionMap::FindHeld(const Node& server, uint32_t table,
                                    uint32_t partition, uint64_t epoch) {
  PartitionGroup* group = Find(table, partition);
  if (group == nullptr) return absl::OkStatus();
  if (absl::Status known =
          CheckEpoch(absl::StrCat("server ", server.name), epoch, *group);
      !known.ok()) {
    return known;
  }
  GroupSteps steps;
  group->FindHeld(server, &steps);
  Note(steps, *group);
  return absl::OkStatus();
}

void PartitionMap::ReturnServer(const Node& server) {
  for (PartitionGroup& group : groups_) {
    GroupSteps steps;
    group.FindHeld(server, &steps);
    Note(steps, group);
  }
}

absl::Status PartitionMap::TakeConfigured(const Configured& configured) {
  for (const ReplicaState& state : configured.replicas) {
    PartitionGroup* group = Find(state.table, state.partition);
    if (group == nullptr) continue;
    if (absl::Status known = CheckEpoch("a server", state.epoch, *group);
        !known.ok()) {
      return known;
    }
    GroupSteps steps;
    group->TakeState(configured.incarnation, state, &steps);
    Note(steps, *group);
  }
  return absl::OkStatus();
}

void PartitionMap::TakeRecruited(const RecruitReplica& order,
                                 const Recruited& recruited) {
  PartitionGroup* group = Find(order.table, order.partition);
  if (group == nullptr) return;
  if (!changes_allowed_) {
    // It is waited for from now on; that it is a member can be said later.
    waiting_.push_back({order, recruited});
    return;
  }
  GroupSteps steps;
  group->TakeRecruited(recruited.epoch, recruited.recruit, &steps);
  Note(steps, *group);
}

void PartitionMap::TakeHandedOver(const HandOver& order) {
  PartitionGroup* group = Find(order.table, order.partition);
  if (group == nullptr) return;
  GroupSteps steps;
  group->TakeHandedOver(order.epoch, &steps);
  Note(steps, *group);
}

bool PartitionMap::CanDoWithout(uint64_t server,
                                const ConfigureReplicas& order) const {
  bool has_duty = false;
  for (const PartitionGroup& group : groups_) {
    const bool ordered =
        std::any_of(order.replicas.begin(), order.replicas.end(),
                    [&](const ReplicaOrder& piece) {
                      return piece.table == group.table() &&
                             piece.partition == group.partition() &&
                             piece.epoch == group.record().epoch;
                    });
    if (!ordered) continue;
    if (group.IsMember(server)) {
      if (group.record().members.size() < 2) return false;
      has_duty = true;
    } else if (group.IsRecruit(server)) {
      has_duty = true;
    }
  }
  return has_duty;
}

void PartitionMap::FailConfigure(const Node& to, const ConfigureReplicas& order,
                                 absl::Duration now) {
  for (const ReplicaOrder& piece : order.replicas) {
    PartitionGroup* group = Find(piece.table, piece.partition);
    if (group == nullptr || piece.epoch != group->record().epoch) continue;
    GroupSteps steps;
    group->LeaveOut({to.incarnation}, &steps);
    Note(steps, *group);
  }
  Avoid(to.incarnation, now);
  SpreadChoices();
}

void PartitionMap::FailRecruit(const RecruitReplica& order,
                               absl::Duration now) {
  PartitionGroup* group = Find(order.table, order.partition);
  if (group == nullptr || order.epoch != group->record().epoch ||
      !group->IsRecruit(order.recruit.incarnation)) {
    return;
  }
  GroupSteps steps;
  group->FailRecruit(order.epoch, &steps);
  Note(steps, *group);
  Avoid(order.recruit.incarnation, now);
}

void PartitionMap::FailHandOver(const HandOver& order) {
  PartitionGroup* group = Find(order.table, order.partition);
  if (group == nullptr || order.epoch != group->record().epoch) return;
  group->FailHandOver(order.epoch);
  resting_[group - groups_.data()] =
      planned_at_ + options_.pause_after_hand_over;
}

void PartitionMap::Plan(absl::Span<const ServerRoom> servers,
                        bool changes_allowed, absl::Duration now) {
  changes_allowed_ = changes_allowed;
  planned_at_ = now;
  if (!changes_allowed || lost()) return;
  for (const auto& [order, recruited] : std::exchange(waiting_, {})) {
    TakeRecruited(order, recruited);
  }
  std::erase_if(avoided_, [&](const auto& pause) {
    return now > pause.second.until + pause.second.length;
  });
  std::erase_if(moves_, [&](const PlannedMove& move) {
    const PartitionGroup& group = groups_[move.group];
    return !group.IsMember(move.leaving) ||
           (!group.record().recruit.has_value() &&
            group.record().members.size() <= options_.replicas);
  });

  std::vector<ServerRoom> usable;
  for (const ServerRoom& server : servers) {
    if (!options_.arithmetic.empty() &&
        server.node.arithmetic != options_.arithmetic) {
      continue;
    }
    ServerRoom& room = usable.emplace_back(server);
    const auto pause = avoided_.find(server.node.incarnation);
    room.avoided |= pause != avoided_.end() && now < pause->second.until;
  }
  PlannerOptions options{options_.replicas, options_.recruits_at_once};
  std::erase_if(resting_, [&](const auto& rest) { return now >= rest.second; });
  for (const auto& [group, until] : resting_) options.resting.insert(group);
  for (const PlanStep& step : PlanReplicas(options, groups_, usable, moves_)) {
    GroupSteps steps;
    const size_t g = std::visit([](const auto& s) { return s.group; }, step);
    PartitionGroup& group = groups_[g];
    if (const auto* recruit = std::get_if<PlanRecruit>(&step)) {
      group.Recruit(recruit->server, &steps);
      if (recruit->leaving != 0) moves_.push_back({g, recruit->leaving});
    } else if (const auto* hand_over = std::get_if<PlanHandOver>(&step)) {
      group.HandOverTo(hand_over->to, &steps);
    } else {
      group.LeaveOut({std::get<PlanLeaveOut>(step).leaving}, &steps);
    }
    Note(steps, group);
  }
}

void PartitionMap::SpreadChoices() {
  std::map<uint64_t, HeldReplicas> held;
  AddHeld(&held);
  for (PartitionGroup& group : groups_) {
    if (!group.collecting()) continue;
    const std::vector<Node>& members = group.record().members;
    const Node& least = *std::min_element(
        members.begin(), members.end(), [&](const Node& a, const Node& b) {
          return held[a.incarnation].primaries < held[b.incarnation].primaries;
        });
    ++held[least.incarnation].primaries;
    group.Prefer(least.incarnation);
  }
}

std::vector<PartitionRecord> PartitionMap::Records() const {
  std::vector<PartitionRecord> records;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const PartitionGroup& group = groups_[g];
    records.push_back(
        {group.table(), group.partition(), ranges_[g], group.record()});
  }
  return records;
}

std::vector<PartitionPlacement> PartitionMap::Placements() const {
  std::vector<PartitionPlacement> placements;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const PartitionGroup& group = groups_[g];
    PartitionPlacement& placement = placements.emplace_back();
    placement.table = group.table();
    placement.partition = group.partition();
    placement.range = ranges_[g];
    placement.epoch = group.record().epoch;
    for (const Node& member : group.record().members) {
      if (member.incarnation == group.record().primary) {
        placement.primary = member;
      } else {
        placement.backups.push_back(member);
      }
    }
  }
  return placements;
}

// Every change of a placement begins an epoch.
uint64_t PartitionMap::version() const {
  uint64_t version = 0;
  for (const PartitionGroup& group : groups_) version += group.record().epoch;
  return version;
}

bool PartitionMap::lost() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const PartitionGroup& group) { return group.lost(); });
}

bool PartitionMap::AllLed() const {
  return std::all_of(
      groups_.begin(), groups_.end(),
      [](const PartitionGroup& group) { return group.primary() != nullptr; });
}

bool PartitionMap::AllSettled() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [](const PartitionGroup& group) {
                       return group.settled() && !group.handing_over();
                     });
}

uint32_t PartitionMap::LeastInSync() const {
  size_t least = options_.replicas;
  for (const PartitionGroup& group : groups_) {
    least = std::min(least, group.record().members.size());
  }
  return least;
}

uint32_t PartitionMap::Degraded() const {
  return std::count_if(
      groups_.begin(), groups_.end(), [&](const PartitionGroup& group) {
        return group.record().members.size() < options_.replicas;
      });
}

bool PartitionMap::Holds(uint64_t incarnation) const {
  return std::any_of(
      groups_.begin(), groups_.end(), [&](const PartitionGroup& group) {
        return group.IsMember(incarnation) || group.IsRecruit(incarnation);
      });
}

void PartitionMap::AddHeld(std::map<uint64_t, HeldReplicas>* held) const {
  for (const PartitionGroup& group : groups_) {
    const GroupRecord& record = group.record();
    for (const Node& member : record.members) {
      HeldReplicas& here = (*held)[member.incarnation];
      ++(member.incarnation == record.primary ? here.primaries : here.backups);
    }
    if (record.recruit.has_value()) {
      ++(*held)[record.recruit->incarnation].backups;
    }
  }
}

PartitionGroup* PartitionMap::Find(uint32_t table, uint32_t partition) {
  const auto it = std::lower_bound(
      groups_.begin(), groups_.end(), std::tie(table, partition),
      [](const PartitionGroup& group, const auto& key) {
        return std::make_tuple(group.table(), group.partition()) < key;
      });
  if (it == groups_.end() || it->table() != table ||
      it->partition() != partition) {
    return nullptr;
  }
  return &*it;
}

}  // namespace seraph
