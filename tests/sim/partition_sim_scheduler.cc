#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/sim/partition_sim_run.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;
using absl::Seconds;

}  // namespace

absl::Duration PartitionSim::SchedulerNow() const {
  return loop_.ClockOf(scheduler_)->Now();
}

void PartitionSim::StartScheduler() {
  scheduler_started_ = loop_.now();
  exporting_ = false;
  if (stored_.group.has_value()) expected_ = stored_.group->members.size();
  registry_.emplace(timeout_, SchedulerNow(), stored_.known);
  known_version_ = registry_->known_version();
  assigned_.clear();
  steps_ = GroupSteps();
  if (stored_.group.has_value()) {
    group_.emplace(0, 0, *stored_.group);
    if (stored_.group->epoch == 1) {
      // Whether a server took its part is not known; Resume follows.
      AssignAll();
    } else {
      group_->Resume(&steps_);
      for (uint32_t r = 0; r < job_.ranks(); ++r) HandOut(r, false);
    }
  }
  SchedulerTick();
}

void PartitionSim::SchedulerTick() {
  loop_.After(timeout_ / 10, scheduler_, "tick", [this] { SchedulerTick(); });
  const absl::Duration now = SchedulerNow();
  for (const LostNode& lost : registry_->Tick(now)) {
    if (loop_.now() < scheduler_started_ + timeout_) {
      checker_->Report(absl::StrCat("a scheduler that has just started calls ",
                                    lost.node.name, " dead"));
    }
    Lose(lost.node);
  }
  if (group_.has_value()) Plan();
  Export();
  for (uint32_t r = 0; r < job_.ranks(); ++r) {
    if (loop_.now() > handed_out_[r] + Seconds(1)) HandOut(r, false);
  }
  Work();
}

void PartitionSim::Lose(const Node& node) {
  loop_.Tell(scheduler_, [&] {
    return absl::StrCat("calls ", node.name, " dead (", node.incarnation, ")");
  });
  ++counts_["called dead"];
  if (!group_.has_value()) return;
  expected_ -= group_->IsMember(node.incarnation);
  group_->LoseNodes({node.incarnation}, &steps_);
}

void PartitionSim::OnRegister(const Node& node,
                              std::optional<HeldPartition> held) {
  for (const LostNode& lost : registry_->Register(node, SchedulerNow())) {
    Lose(lost.node);
  }
  if (group_.has_value() && held.has_value() &&
      held->generation == stored_.generation) {
    if (held->epoch > stored_.group->epoch) {
      checker_->Report("a server has seen a higher epoch than is stored");
    }
    group_->FindHeld(node, &steps_);
  }
  Work();
}

bool PartitionSim::OnHeartbeat(const Node& node,
                               const std::vector<uint64_t>& silent) {
  const absl::Duration now = SchedulerNow();
  if (!registry_->Heartbeat(node.name, node.incarnation, {}, now).ok()) {
    return false;
  }
  if (group_.has_value() && group_->primary() != nullptr &&
      group_->primary()->incarnation == node.incarnation) {
    for (uint64_t other : silent) {
      if (!group_->IsMember(other) && !group_->IsRecruit(other)) continue;
      ++counts_["complaints"];
      // Whose fault it is, nobody knows.
      const uint64_t gone = loop_.Happens(0.7) ? other : node.incarnation;
      expected_ -= group_->IsMember(gone);
      group_->LeaveOut({gone}, &steps_);
      break;
    }
  }
  Work();
  return true;
}

void PartitionSim::Plan() {
  if (!AllAssigned() || !group_->settled() ||
      group_->record().recruit.has_value() || group_->handing_over()) {
    return;
  }
  const std::vector<Node>& members = group_->record().members;
  const Node* leaving = nullptr;
  for (const Node& member : members) {
    if (member.name == draining_) leaving = &member;
  }
  if (static_cast<int>(members.size()) > replicas_) {
    const Node& gone = leaving != nullptr ? *leaving : members.back();
    if (gone.incarnation != group_->primary()->incarnation) {
      --expected_;
      group_->LeaveOut({gone.incarnation}, &steps_);
    } else {
      for (const Node& member : members) {
        if (member.incarnation == gone.incarnation) continue;
        group_->HandOverTo(member.incarnation, &steps_);
        break;
      }
    }
    return;
  }
  if (static_cast<int>(members.size()) == replicas_ && leaving == nullptr) {
    return;
  }
  for (const Node& node : registry_->Alive(NodeRole::kServer)) {
    if (node.name == draining_ || group_->IsMember(node.incarnation)) {
      continue;
    }
    group_->Recruit(node, &steps_);
    return;
  }
}

void PartitionSim::Work() {
  if (!loop_.IsUp(scheduler_)) return;
  if (registry_->known_version() != known_version_) {
    known_version_ = registry_->known_version();
    stored_.known = registry_->Known();
  }
  if (!group_.has_value()) {
    const auto alive = registry_->Alive(NodeRole::kServer);
    if (stored_.generation == 1 ? alive.size() < static_cast<size_t>(replicas_)
                                : alive.empty()) {
      return;
    }
    Place(alive);
    if (!Dies()) AssignAll();
    return;
  }
  GroupSteps steps = std::exchange(steps_, GroupSteps());
  if (steps.lost) {
    if (whole_ && expected_ > 0) {
      checker_->Report(absl::StrCat("the job goes back although ", expected_,
                                    " members should have been left"));
    }
    GoBack();
    if (!Dies()) AssignAll();
    return;
  }
  if (steps.record_changed) {
    stored_.group = group_->record();
    RememberMembers();
    const GroupRecord& group = *stored_.group;
    const int members = group.members.size();
    if (whole_ && members < expected_) {
      checker_->Report(absl::StrCat("epoch ", group.epoch, " has ", members,
                                    " members of ", expected_,
                                    " that were not lost"));
    }
    expected_ = members;
    highest_epoch_ = std::max(highest_epoch_, group.epoch);
    loop_.Tell(scheduler_, [&] {
      std::string text =
          absl::StrCat("stores epoch ", group.epoch, ": members");
      for (const Node& node : group.members) {
        absl::StrAppend(&text, " ", node.name,
                        node.incarnation == group.primary ? "*" : "");
      }
      if (group.recruit.has_value()) {
        absl::StrAppend(&text, " recruit ", group.recruit->name);
      }
      return text;
    });
    if (Dies()) return;
  }
  for (const DutyOrder& duty : steps.duties) {
    Configure(duty.to, duty.order, stored_.generation, 0);
  }
  if (steps.recruit.has_value()) {
    RecruitOne(*steps.recruit, stored_.generation, 0);
  }
  if (steps.hand_over.has_value()) {
    HandOverOne(*steps.hand_over, stored_.generation);
  }
  if (steps.placement_changed) TellRanks();
}

bool PartitionSim::Dies() {
  if (loop_.now() > plan_.until || !loop_.Happens(drop_chance_)) return false;
  ++counts_["scheduler dies after commit"];
  loop_.After(absl::ZeroDuration(), SimLoop::kWorld, "dies", [this] {
    Crash(scheduler_);
    loop_.After(loop_.Between(Milliseconds(1), Milliseconds(400)),
                SimLoop::kWorld, "back", [this] {
                  if (!loop_.IsUp(scheduler_)) Restart(scheduler_);
                });
  });
  return true;
}

void PartitionSim::Place(const std::vector<Node>& alive) {
  const size_t first = loop_.Below(alive.size());
  const size_t n = std::min<size_t>(replicas_, alive.size());
  std::vector<Node> members;
  for (size_t i = 0; i < n; ++i) {
    members.push_back(alive[(first + i) % alive.size()]);
  }
  group_.emplace(0, 0, members);
  stored_.group = group_->record();
  RememberMembers();
  expected_ = members.size();
  whole_ = false;
  assigned_.clear();
  steps_ = GroupSteps();
  loop_.Tell(scheduler_, [&] {
    return absl::StrCat("places generation ", stored_.generation, " on ",
                        members[0].name, " and ", n - 1, " more");
  });
}

void PartitionSim::GoBack() {
  ++stored_.generation;
  loop_.Tell(scheduler_, [&] {
    return absl::StrCat("### goes back: generation ", stored_.generation);
  });
  checker_->WentBack(stored_.generation, {});
  stored_.group.reset();
  stored_.done.clear();
  for (uint32_t r = 0; r < job_.ranks(); ++r) stored_.machine[r] = workers_[0];
  group_.reset();
  assigned_.clear();
  // Placed by one of the next calls, when servers are there.
  const auto alive = registry_->Alive(NodeRole::kServer);
  if (!alive.empty()) Place(alive);
}

void PartitionSim::AssignAll() {
  if (!stored_.group.has_value() || stored_.group->epoch > 1) return;
  const GroupRecord& group = *stored_.group;
  for (const Node& member : group.members) {
    ReplicaOrder order{.epoch = 1,
                       .duty = member.incarnation == group.primary
                                   ? ReplicaDuty::kLead
                                   : ReplicaDuty::kFollow,
                       .members = group.members};
    for (const Node& node : group.members) {
      if (node.incarnation == group.primary) order.primary = node;
    }
    SendAssign(member, order, stored_.generation);
  }
}

void PartitionSim::SendAssign(const Node& to, const ReplicaOrder& order,
                              uint64_t generation) {
  network_.Call<Placed>(
      scheduler_, MachineOf(to), "assign", kCallTimeout,
      [this, to, order, generation](auto answer) {
        ReplicaHost* host = HostOn(MachineOf(to));
        if (host == nullptr) return;
        answer(host->Assign(generation, to.incarnation, order));
      },
      [this, to, order, generation](absl::StatusOr<Placed> placed) {
        if (stored_.generation != generation || !group_.has_value()) return;
        if (!placed.ok()) {
          if (stored_.group->epoch != 1) return;
          loop_.After(Milliseconds(20), scheduler_, "again",
                      [this, to, order, generation] {
                        if (stored_.generation == generation) {
                          SendAssign(to, order, generation);
                        }
                      });
          return;
        }
        if (placed->generation != generation ||
            placed->incarnation != to.incarnation) {
          return;
        }
        if (!assigned_.insert(to.incarnation).second) return;
        if (stored_.group->epoch != 1 || !AllAssigned()) return;
        whole_ = true;
        group_->Resume(&steps_);
        for (uint32_t r = 0; r < job_.ranks(); ++r) HandOut(r, false);
        Work();
      });
}

bool PartitionSim::AllAssigned() const {
  if (!stored_.group.has_value()) return false;
  const GroupRecord& group = *stored_.group;
  if (group.epoch > 1) return true;
  return std::all_of(group.members.begin(), group.members.end(),
                     [this](const Node& node) {
                       return assigned_.count(node.incarnation) > 0;
                     });
}

void PartitionSim::Configure(const Node& to, const ReplicaOrder& one,
                             uint64_t generation, int tries) {
  loop_.Tell(scheduler_, [&] {
    static constexpr const char* kDuties[] = {"collect", "lead", "follow",
                                              "join", "drop"};
    return absl::StrCat("orders ", to.name, " to ",
                        kDuties[static_cast<int>(one.duty)], ", epoch ",
                        one.epoch);
  });
  network_.Call<Configured>(
      scheduler_, MachineOf(to), "configure", kCallTimeout,
      [this, to, one, generation](auto answer) {
        ReplicaHost* host = HostOn(MachineOf(to));
        if (host == nullptr) return;
        answer(host->Configure(generation, to.incarnation, one));
      },
      [this, to, one, generation,
       tries](absl::StatusOr<Configured> configured) {
        if (stored_.generation != generation || !group_.has_value()) return;
        if (configured.ok()) {
          if (configured->incarnation != to.incarnation ||
              configured->generation != generation) {
            return;
          }
          group_->TakeState(to.incarnation, configured->replicas[0], &steps_);
          for (uint32_t r = 0; r < job_.ranks(); ++r) HandOut(r, false);
          return Work();
        }
        // Until a later epoch makes it void, or the server is dead.
        const bool is_drop = one.duty == ReplicaDuty::kDrop;
        if ((!is_drop && stored_.group->epoch != one.epoch) ||
            (is_drop && tries > 20) ||
            !registry_->IsAlive(to.name, to.incarnation)) {
          return;
        }
        loop_.After(Milliseconds(20), scheduler_, "again",
                    [this, to, one, generation, tries] {
                      if (stored_.generation == generation) {
                        Configure(to, one, generation, tries + 1);
                      }
                    });
      });
}

void PartitionSim::RecruitOne(const GroupSteps::ToPrimary& step,
                              uint64_t generation, int tries) {
  const Node to = step.primary;
  const RecruitReplica order{.epoch = step.epoch, .recruit = step.recruit};
  loop_.Tell(scheduler_, [&] {
    return absl::StrCat("orders ", to.name, " to recruit ", step.recruit.name,
                        ", epoch ", step.epoch);
  });
  network_.Call<Recruited>(
      scheduler_, MachineOf(to), "recruit", 3 * kCallTimeout,
      [this, to, order, generation](auto answer) {
        ReplicaHost* host = HostOn(MachineOf(to));
        if (host == nullptr) return;
        host->Recruit(generation, to.incarnation, order, answer);
      },
      [this, step, generation, tries](absl::StatusOr<Recruited> reply) {
        if (stored_.generation != generation || !group_.has_value()) return;
        if (reply.ok()) {
          ++counts_["recruited"];
          group_->TakeRecruited(reply->epoch, reply->recruit, &steps_);
          return Work();
        }
        const bool slow = absl::IsUnavailable(reply.status()) ||
                          absl::IsDeadlineExceeded(reply.status());
        if (!slow || tries > 10) {
          group_->FailRecruit(step.epoch, &steps_);
          return Work();
        }
        loop_.After(Milliseconds(20), scheduler_, "again",
                    [this, step, generation, tries] {
                      if (stored_.generation == generation &&
                          stored_.group->epoch == step.epoch) {
                        RecruitOne(step, generation, tries + 1);
                      }
                    });
      });
}

void PartitionSim::HandOverOne(const GroupSteps::ToPrimary& step,
                               uint64_t generation) {
  const Node to = step.primary;
  network_.Call<HandedOver>(
      scheduler_, MachineOf(to), "hand over", kCallTimeout,
      [this, to, step, generation](auto answer) {
        ReplicaHost* host = HostOn(MachineOf(to));
        if (host == nullptr) return;
        host->HandOver(generation, to.incarnation, step.epoch, answer);
      },
      [this, step, generation](absl::StatusOr<HandedOver> reply) {
        if (stored_.generation != generation || !group_.has_value()) return;
        if (reply.ok()) {
          ++counts_["handed over"];
          group_->TakeHandedOver(step.epoch, &steps_);
        } else {
          group_->FailHandOver(step.epoch);
        }
        Work();
      });
}

void PartitionSim::MoveOne() {
  const auto it = std::next(servers_.begin(), loop_.Below(servers_.size()));
  draining_ = loop_.name(it->first);
  loop_.Tell(SimLoop::kWorld,
             [&] { return absl::StrCat("### ", draining_, " drains"); });
  loop_.After(loop_.Between(Milliseconds(100), Milliseconds(900)),
              SimLoop::kWorld, "drained", [this] { draining_.clear(); });
}

}  // namespace seraph::testing
