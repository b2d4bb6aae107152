// A partition and the cuts through its job.
#include <utility>

#include "server/core/partition.h"

namespace seraph {

std::vector<Clock> Partition::NextClocks() const {
  std::vector<Clock> clocks;
  for (const RankProgress& rank : state_->folded().ranks) {
    clocks.push_back(rank.next);
  }
  return clocks;
}

void Partition::LeaveCutBehind(uint64_t cut, absl::string_view why,
                               absl::Duration now, Effects* effects) {
  if (!cut_.holding() || cut <= cut_.id()) return;
  VoidCut(why, now, effects);
}

absl::StatusOr<std::vector<Clock>> Partition::BeginCut(uint64_t cut,
                                                       bool at_rest,
                                                       absl::Duration now,
                                                       Effects* effects) {
  if (absl::Status status = CheckOrder(epoch_); !status.ok()) return status;
  LeaveCutBehind(cut, "a later one has begun", now, effects);
  if (at_rest) return cut_.Begin(cut, NextClocks(), now + replica_.lease);
  std::vector<Clock> clocks;
  for (const RankProgress& rank : state_->folded().ranks) {
    clocks.push_back(CutClock(options_.sync.spec.mode, rank));
  }
  return cut_.Begin(cut, std::move(clocks), now + replica_.lease);
}

void Partition::TakeCut(uint64_t cut, std::vector<Clock> clocks, bool at_rest,
                        Since since, Ticket ticket, absl::Duration now,
                        Effects* effects) {
  absl::Status status = CheckOrder(epoch_);
  if (status.ok()) {
    LeaveCutBehind(cut, "a later one has begun", now, effects);
    status = cut_.Take(cut, std::move(clocks), at_rest, NextClocks(),
                       now + replica_.lease);
  }
  Done done = DoneWith(ticket, status);
  if (!status.ok() || cut_.IsCopied(cut)) {
    if (status.ok()) done.clocks = cut_.copied_clocks();
    effects->done.push_back(std::move(done));
    if (!cut_.holding()) EndTickets(&cut_.tickets, status, effects);
  } else {
    cut_.tickets.push_back(ticket);
    cut_since_ = since;
  }
  // What is below the clocks passes.
  ReleaseHeld(now, effects);
  Finish(now, effects);
}

bool Partition::CopyIfDue(absl::Duration now, Effects* effects) {
  if (!cut_.holding() || !cut_.IsDue(NextClocks())) return false;
  absl::StatusOr<PartitionCut> rest =
      cut_.rest().has_value() ? state_->CutBelow(*cut_.rest()) : state_->Cut();
  if (!rest.ok()) {
    VoidCut(rest.status().message(), now, effects);
    return false;
  }
  std::vector<Clock> clocks;
  for (const RankCut& rank : rest->ranks) clocks.push_back(rank.clock);
  PartitionCopy copy{.table = options_.table_index,
                     .partition = options_.partition,
                     .range = state_->store().range(),
                     .cut = *std::move(rest)};
  const uint64_t since =
      cut_since_.layout == state_->store().layout() ? cut_since_.version : 0;
  CopyRows(state_->sums(), since, state_->mutable_store(), &copy);
  cut_.Copied(std::move(copy), std::move(clocks));
  for (const Ticket ticket : std::exchange(cut_.tickets, {})) {
    Done done = DoneWith(ticket, absl::OkStatus());
    done.clocks = cut_.copied_clocks();
    effects->done.push_back(std::move(done));
  }
  return true;
}

absl::StatusOr<PartitionCopy> Partition::MoveCopy(uint64_t cut) {
  return cut_.Move(cut);
}

// What was held goes on with the next Finish or at once, as the caller does.
void Partition::VoidCut(absl::string_view why, absl::Duration now,
                        Effects* effects) {
  cut_.VoidUpTo(cut_.id());
  EndTickets(&cut_.tickets, absl::AbortedError(why), effects);
  ReleaseHeld(now, effects);
}

void Partition::DropCut(uint64_t cut, absl::Duration now, Effects* effects) {
  if (cut_.holding() && cut_.id() <= cut) {
    VoidCut("the cut was dropped", now, effects);
  }
  cut_.VoidUpTo(cut);
  Finish(now, effects);
}

}  // namespace seraph
