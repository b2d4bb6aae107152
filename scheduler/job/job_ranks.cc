// The ranks of JobMachine's job, and the workers that run them.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "scheduler/job/job_machine.h"
#include "scheduler/job/node_text.h"
#include "scheduler/placement/node_choice.h"

namespace seraph {

void JobMachine::LoseWorker(const Node& worker, absl::string_view what,
                            Moment now, Orders* out) {
  const std::vector<uint32_t> ranks = roster_.LoseWorker(worker);
  if (scan_.has_value()) {
    scan_->LoseWorker(worker);
    SendScans(now, out);
  }
  if (ranks.empty()) return;
  ++view_.recoveries;
  Changed();
  Log(absl::StrCat(Describe(worker), " ", what, " in the phase '",
                   JobPhaseName(view_.phase), "' with ", RanksText(ranks),
                   ", which another worker gets"),
      now, out);
}

// Their ranks go where there is room; without room they stay.
void JobMachine::EmptyDraining(const ClusterNodes& nodes, Moment now,
                               Orders* out) {
  if (nodes.draining.empty() || view_.phase != JobPhase::kTraining) return;
  std::vector<WorkerRoom> rooms = nodes.workers;
  // Those that wait already come first.
  for (size_t i = roster_.Waiting().size(); i > 0; --i) {
    WorkerRoom* room = FindRoom(absl::MakeSpan(rooms), arithmetic_, 0);
    if (room == nullptr) return;
    ++room->taken;
  }
  for (const Node& worker : roster_.Workers()) {
    if (!nodes.draining.contains(worker.incarnation)) continue;
    std::vector<uint32_t> moved;
    for (const uint32_t rank : roster_.RanksOf(worker)) {
      WorkerRoom* room = FindRoom(absl::MakeSpan(rooms), arithmetic_, 0);
      if (room == nullptr) break;
      ++room->taken;
      roster_.TakeFrom(rank);
      moved.push_back(rank);
    }
    if (moved.empty()) continue;
    roster_.Excuse(now.steady);
    Changed();
    Log(absl::StrCat(Describe(worker), " drains; ", RanksText(moved),
                     moved.size() == 1 ? " goes" : " go", " elsewhere"),
        now, out);
  }
}

void JobMachine::HandOut(ClusterNodes* nodes, Moment now, Orders* out) {
  const std::vector<uint32_t> waiting = roster_.Waiting();
  std::erase_if(full_workers_, [&](const auto& worker) {
    return worker.second <= now.steady;
  });
  if (waiting.empty()) return;
  std::vector<WorkerRoom> full;
  for (const WorkerRoom& room : nodes->workers) {
    if (full_workers_.contains(room.node.incarnation)) full.push_back(room);
  }
  std::erase_if(nodes->workers, [&](const WorkerRoom& room) {
    return full_workers_.contains(room.node.incarnation);
  });
  std::vector<std::pair<Node, std::vector<uint32_t>>> chosen;
  for (const uint32_t rank : waiting) {
    const auto avoid = not_to_.find(rank);
    WorkerRoom* room = FindRoom(absl::MakeSpan(nodes->workers), arithmetic_,
                                avoid == not_to_.end() ? 0 : avoid->second);
    if (room == nullptr) break;
    ++room->taken;
    roster_.Assign(rank, room->node);
    const auto known =
        std::find_if(chosen.begin(), chosen.end(), [&](const auto& item) {
          return item.first.incarnation == room->node.incarnation;
        });
    if (known == chosen.end()) {
      chosen.push_back({room->node, {rank}});
    } else {
      known->second.push_back(rank);
    }
  }
  // Other jobs may find room there.
  nodes->workers.insert(nodes->workers.end(), full.begin(), full.end());
  for (const auto& [worker, ranks] : chosen) {
    Changed();
    if (view_.phase == JobPhase::kTraining) {
      Log(absl::StrCat(RanksText(ranks), " to worker ", worker.name), now, out);
      RunRanksOn(worker, ranks, now, out);
    } else if (scan_.has_value()) {
      scan_->AddWorker(worker);
      SendScans(now, out);
    }
  }
}

void JobMachine::RunRanksOn(const Node& worker,
                            const std::vector<uint32_t>& ranks, Moment now,
                            Orders* out) {
  RunRanks order{plan_, {}};
  for (const uint32_t rank : ranks) {
    order.ranks.push_back(
        {.rank = rank, .attempt = roster_.Begin(rank, now.steady)});
  }
  Send(worker, std::move(order), now, out);
}

bool JobMachine::TakeFromFullWorker(const Order& order,
                                    const absl::Status& status, Moment now,
                                    Orders* out) {
  const std::vector<RankRef>& ranks = std::get<RunRanks>(order.body).ranks;
  const bool have_run =
      std::any_of(ranks.begin(), ranks.end(),
                  [](const RankRef& rank) { return rank.attempt > 1; });
  // A job that does not fit when it begins is told so at once.
  if (!have_run) return false;
  const std::vector<uint32_t> there = roster_.RanksOf(*order.to);
  std::vector<uint32_t> taken;
  for (const RankRef& rank : ranks) {
    if (rank.attempt != roster_[rank.rank].attempt) continue;
    if (std::find(there.begin(), there.end(), rank.rank) == there.end()) {
      continue;
    }
    roster_.TakeFrom(rank.rank);
    taken.push_back(rank.rank);
  }
  full_workers_[order.to->incarnation] = now.steady + options_.full_worker;
  std::string why = absl::StrCat(Describe(*order.to), ": ", status.message());
  if (why != std::exchange(why_full_, why) && !taken.empty()) {
    Warn(absl::StrCat(why, "; ", RanksText(taken),
                      taken.size() == 1 ? " waits" : " wait",
                      " for a worker with room"),
         now, out);
  }
  roster_.Excuse(now.steady);
  Changed();
  return true;
}

void JobMachine::LookForStalledRank(Moment now, Orders* out) {
  const absl::Duration timeout = request_->spec.train.stall_timeout;
  if (timeout <= absl::ZeroDuration() || !map_->AllLed()) return;
  if (cuts_->taking() || let_go_.has_value()) return;
  std::vector<bool> waits_at_end(roster_.size());
  if (barrier_.has_value()) {
    // All are there: what is missing is the decision.
    if (barrier_->complete()) return;
    for (const auto& [rank, share] : barrier_->shares()) {
      waits_at_end[rank] = true;
    }
  }
  const std::optional<uint32_t> stalled =
      roster_.FindStalled(timeout, request_->spec.sync.mode != SyncMode::kAsp,
                          waits_at_end, now.steady);
  if (!stalled.has_value()) return;
  const Node worker = *roster_[*stalled].worker;
  ++view_.recoveries;
  not_to_[*stalled] = worker.incarnation;
  roster_.TakeFrom(*stalled);
  roster_.Excuse(now.steady);
  Changed();
  Log(absl::StrCat("rank ", *stalled, " stands still on worker ", worker.name,
                   " for ", absl::FormatDuration(timeout),
                   " while others wait; another worker gets it"),
      now, out);
}

std::string JobMachine::RoomText(const ClusterNodes& nodes) const {
  uint64_t slots = 0;
  size_t fitting = 0;
  for (const WorkerRoom& room : nodes.workers) {
    if (!arithmetic_.empty() && room.node.arithmetic != arithmetic_) continue;
    ++fitting;
    slots += room.node.slots;
  }
  if (fitting == 0) {
    return arithmetic_.empty() || nodes.workers.empty()
               ? "no worker has registered"
               : "no worker of the build and architecture of its servers has "
                 "registered";
  }
  return absl::StrCat(CountText(fitting, "worker"), " with ",
                      CountText(slots, "slot"), fitting == 1 ? " has" : " have",
                      " none free; add workers or raise worker.slots");
}

absl::Status JobMachine::CheckLife(const JobRef& job,
                                   const RankRef& rank) const {
  if (job.generation != ref_.generation) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", ref_.id, " is in generation ", ref_.generation,
                     ", not in ", job.generation));
  }
  if (rank.rank >= roster_.size() ||
      rank.attempt != roster_[rank.rank].attempt) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank.rank, " of ", roster_.size(),
                     " is not run as attempt ", rank.attempt));
  }
  return absl::OkStatus();
}

absl::Status JobMachine::EndRank(const JobRef& job, const RankRef& rank,
                                 uint64_t incarnation,
                                 const absl::Status& status, Moment now,
                                 Orders* out) {
  if (HasEnded(view_.state)) return absl::OkStatus();
  if (absl::Status life = CheckLife(job, rank); !life.ok()) return life;
  const RankRecord& record = roster_[rank.rank];
  if (view_.phase != JobPhase::kTraining) {
    // It was done before, and this is a repeat.
    if (record.done) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("job ", ref_.id, " does not train"));
  }
  if (!record.worker.has_value() || record.worker->incarnation != incarnation) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank.rank, " is run by another incarnation or worker"));
  }
  if (record.done) return absl::OkStatus();
  const bool passing =
      IsTransient(status) || status.code() == absl::StatusCode::kAborted;
  if (passing && ++times_back_ <= options_.most_times_back) {
    ++view_.recoveries;
    not_to_[rank.rank] = incarnation;
    Log(absl::StrCat("rank ", rank.rank, " on worker ", record.worker->name,
                     ": ", status.message(), "; it is handed out anew"),
        now, out);
    roster_.TakeFrom(rank.rank);
    Changed();
    return absl::OkStatus();
  }
  if (!status.ok()) {
    Fail(absl::StrCat("rank ", rank.rank, " on worker ", record.worker->name,
                      ": ", status.message()),
         now, out);
    return absl::OkStatus();
  }
  roster_.Finish(rank.rank);
  if (roster_.AllDone()) ReadLedgerNow(now, out);
  return absl::OkStatus();
}

}  // namespace seraph
