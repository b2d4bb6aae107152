#include "scheduler/replicas/partition_group.h"

#include <algorithm>
#include <utility>

#include "common/base/planted_bug.h"

namespace seraph {
namespace {

std::set<uint64_t> SetOf(absl::Span<const uint64_t> incarnations) {
  return {incarnations.begin(), incarnations.end()};
}

}  // namespace

PartitionGroup::PartitionGroup(uint32_t table, uint32_t partition,
                               std::vector<Node> members)
    : table_(table), partition_(partition) {
  record_.primary = members.front().incarnation;
  for (const Node& member : members) confirmed_.insert(member.incarnation);
  record_.members = std::move(members);
}

PartitionGroup::PartitionGroup(uint32_t table, uint32_t partition,
                               GroupRecord record)
    : table_(table),
      partition_(partition),
      record_(std::move(record)),
      anyone_dropped_(true) {}

bool PartitionGroup::settled() const {
  return record_.primary != 0 && confirmed_.contains(record_.primary);
}

const Node* PartitionGroup::primary() const {
  return record_.primary == 0 ? nullptr : FindMember(record_.primary);
}

bool PartitionGroup::IsMember(uint64_t incarnation) const {
  return FindMember(incarnation) != nullptr;
}

bool PartitionGroup::IsRecruit(uint64_t incarnation) const {
  return record_.recruit.has_value() &&
         record_.recruit->incarnation == incarnation;
}

void PartitionGroup::Resume(GroupSteps* out) {
  if (lost()) {
    out->lost = true;
    return;
  }
  OrderAll(out);
  AskToRecruitIfReady(out);
}

void PartitionGroup::LoseNodes(absl::Span<const uint64_t> incarnations,
                               GroupSteps* out) {
  Remove({SetOf(incarnations), /*alive=*/false}, out);
}

void PartitionGroup::LeaveOut(absl::Span<const uint64_t> incarnations,
                              GroupSteps* out) {
  Remove({SetOf(incarnations), /*alive=*/true}, out);
}

void PartitionGroup::Remove(const Departure& departure, GroupSteps* out) {
  const auto goes = [&](const Node& node) {
    return departure.gone.contains(node.incarnation);
  };
  std::vector<Node> leaving;
  std::copy_if(record_.members.begin(), record_.members.end(),
               std::back_inserter(leaving), goes);
  const bool recruit_goes =
      record_.recruit.has_value() && goes(*record_.recruit);
  if (leaving.empty() && !recruit_goes) return;
  if (leaving.empty() && IsPlanted(PlantedBug::kRecruitDeathBlocks)) {
    // The primary goes on waiting for it.
    record_.recruit.reset();
    out->record_changed = true;
    return;
  }
  std::erase_if(record_.members, goes);

  std::vector<Node> told;
  if (departure.alive) told = leaving;
  const bool primary_goes = departure.gone.contains(record_.primary);
  if (recruit_goes || primary_goes) {
    if (record_.recruit.has_value() && (!recruit_goes || departure.alive)) {
      told.push_back(*record_.recruit);
    }
    record_.recruit.reset();
  }
  if (primary_goes) {
    record_.primary = 0;
    // Only where a promotion is careless can a member diverge at all.
    if ((IsPlanted(PlantedBug::kPromoteWithoutCollecting) ||
         IsPlanted(PlantedBug::kDiscardDivergentAtOnce)) &&
        !lost()) {
      record_.primary = record_.members.front().incarnation;
    }
  }
  BeginEpoch(out);
  if (lost()) {
    out->lost = true;
  } else {
    OrderAll(out);
  }
  for (const Node& server : told) OrderDrop(server, out);
}

// The recruit stays as the record has it: an epoch that begins with one asks
// for it anew.
void PartitionGroup::BeginEpoch(GroupSteps* out) {
  ++record_.epoch;
  confirmed_.clear();
  positions_.clear();
  dropped_.clear();
  anyone_dropped_ = false;
  handing_over_ = false;
  out->record_changed = true;
  out->placement_changed = true;
}

void PartitionGroup::Collect(GroupSteps* out) {
  std::optional<Node> recruit = std::exchange(record_.recruit, std::nullopt);
  record_.primary = 0;
  BeginEpoch(out);
  OrderAll(out);
  if (recruit.has_value()) OrderDrop(*recruit, out);
}

void PartitionGroup::TakeState(uint64_t incarnation, const ReplicaState& state,
                               GroupSteps* out) {
  if (state.epoch != record_.epoch) return;
  if (IsRecruit(incarnation)) {
    if (state.duty != ReplicaDuty::kJoin) {
      return LeaveOut({incarnation}, out);
    }
    if (confirmed_.insert(incarnation).second) AskToRecruitIfReady(out);
    return;
  }
  if (!IsMember(incarnation)) return;
  const ReplicaDuty duty = collecting() ? ReplicaDuty::kCollect
                           : incarnation == record_.primary
                               ? ReplicaDuty::kLead
                               : ReplicaDuty::kFollow;
  // A log that is not as the primary's may still be the longest of those that
  // are left, so it counts while a primary is chosen.
  const bool divergent = state.divergent && duty == ReplicaDuty::kFollow;
  if (state.duty != duty || divergent) return LeaveOut({incarnation}, out);
  const bool is_new = confirmed_.insert(incarnation).second;
  if (duty == ReplicaDuty::kCollect) {
    positions_.emplace(incarnation, state.last);
    ChooseIfAllHaveAnswered(out);
  } else if (is_new && duty == ReplicaDuty::kLead) {
    AskToRecruitIfReady(out);
  }
}

void PartitionGroup::ChooseIfAllHaveAnswered(GroupSteps* out) {
  if (positions_.size() < record_.members.size()) return;
  LogPosition highest;
  for (const auto& [incarnation, position] : positions_) {
    highest = std::max(highest, position);
  }
  uint64_t chosen = 0;
  for (const Node& member : record_.members) {
    if (positions_.at(member.incarnation) != highest) continue;
    if (chosen == 0 || member.incarnation == preferred_) {
      chosen = member.incarnation;
    }
  }
  record_.primary = chosen;
  preferred_ = 0;
  BeginEpoch(out);
  OrderAll(out);
}

void PartitionGroup::TakeRecruited(uint64_t epoch, uint64_t recruit,
                                   GroupSteps* out) {
  if (epoch != record_.epoch || record_.primary == 0 || !IsRecruit(recruit)) {
    return;
  }
  record_.members.push_back(*std::exchange(record_.recruit, std::nullopt));
  BeginEpoch(out);
  OrderAll(out);
}

void PartitionGroup::FailRecruit(uint64_t epoch, GroupSteps* out) {
  if (epoch != record_.epoch || !record_.recruit.has_value()) return;
  LeaveOut({record_.recruit->incarnation}, out);
}

void PartitionGroup::TakeHandedOver(uint64_t epoch, GroupSteps* out) {
  if (epoch != record_.epoch || !handing_over_) return;
  Collect(out);
}

void PartitionGroup::FailHandOver(uint64_t epoch) {
  if (epoch == record_.epoch) handing_over_ = false;
}

bool PartitionGroup::Recruit(const Node& server, GroupSteps* out) {
  if (!settled() || record_.recruit.has_value() || handing_over_) return false;
  record_.recruit = server;
  if (anyone_dropped_ || dropped_.contains(server.incarnation)) {
    BeginEpoch(out);
    OrderAll(out);
    return true;
  }
  out->record_changed = true;
  out->duties.push_back({server, DutyOf(ReplicaDuty::kJoin)});
  return true;
}

bool PartitionGroup::HandOverTo(uint64_t incarnation, GroupSteps* out) {
  if (!settled() || record_.recruit.has_value() || handing_over_) return false;
  handing_over_ = true;
  preferred_ = incarnation;
  out->hand_over = GroupSteps::ToPrimary{*primary(), record_.epoch, {}};
  return true;
}

void PartitionGroup::FindHeld(const Node& server, GroupSteps* out) {
  if (lost() || IsMember(server.incarnation) || IsRecruit(server.incarnation)) {
    return;
  }
  OrderDrop(server, out);
}

void PartitionGroup::OrderAll(GroupSteps* out) const {
  for (const Node& member : record_.members) {
    const ReplicaDuty duty = collecting() ? ReplicaDuty::kCollect
                             : member.incarnation == record_.primary
                                 ? ReplicaDuty::kLead
                                 : ReplicaDuty::kFollow;
    out->duties.push_back({member, DutyOf(duty)});
  }
  if (record_.recruit.has_value()) {
    out->duties.push_back({*record_.recruit, DutyOf(ReplicaDuty::kJoin)});
  }
}

// Both must have begun the epoch: a primary of an older one would refuse, and
// its recruit would not listen.
void PartitionGroup::AskToRecruitIfReady(GroupSteps* out) {
  if (!settled() || !record_.recruit.has_value()) return;
  if (!confirmed_.contains(record_.recruit->incarnation)) return;
  out->recruit =
      GroupSteps::ToPrimary{*primary(), record_.epoch, *record_.recruit};
}

void PartitionGroup::OrderDrop(const Node& server, GroupSteps* out) {
  dropped_.insert(server.incarnation);
  out->duties.push_back({server, DutyOf(ReplicaDuty::kDrop)});
}

ReplicaOrder PartitionGroup::DutyOf(ReplicaDuty duty) const {
  ReplicaOrder order;
  order.table = table_;
  order.partition = partition_;
  order.epoch = record_.epoch;
  order.duty = duty;
  if (const Node* leader = primary()) order.primary = *leader;
  order.members = record_.members;
  return order;
}

const Node* PartitionGroup::FindMember(uint64_t incarnation) const {
  for (const Node& member : record_.members) {
    if (member.incarnation == incarnation) return &member;
  }
  return nullptr;
}

}  // namespace seraph
