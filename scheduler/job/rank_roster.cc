#include "scheduler/job/rank_roster.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {
namespace {

bool IsOn(const RankRecord& rank, const Node& worker) {
  return rank.worker.has_value() &&
         rank.worker->incarnation == worker.incarnation;
}

}  // namespace

void RankRoster::Assign(uint32_t rank, const Node& worker) {
  ranks_[rank].worker = worker;
}

uint32_t RankRoster::Begin(uint32_t rank, absl::Duration now) {
  seen_[rank].since = now;
  return ++ranks_[rank].attempt;
}

void RankRoster::TakeFrom(uint32_t rank) { ranks_[rank].worker.reset(); }

std::vector<uint32_t> RankRoster::LoseWorker(const Node& worker) {
  const std::vector<uint32_t> lost = RanksOf(worker);
  for (RankRecord& rank : ranks_) {
    if (IsOn(rank, worker)) rank.worker.reset();
  }
  return lost;
}

void RankRoster::GoBack() {
  for (RankRecord& rank : ranks_) {
    rank.worker.reset();
    rank.done = false;
  }
  seen_.assign(ranks_.size(), Seen());
}

bool RankRoster::AllDone() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const RankRecord& rank) { return rank.done; });
}

std::vector<uint32_t> RankRoster::Waiting() const {
  std::vector<uint32_t> waiting;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].done && !ranks_[rank].worker.has_value()) {
      waiting.push_back(rank);
    }
  }
  return waiting;
}

std::vector<uint32_t> RankRoster::RanksOf(const Node& worker) const {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].done && IsOn(ranks_[rank], worker)) ranks.push_back(rank);
  }
  return ranks;
}

uint32_t RankRoster::CountOn(const Node& worker) const {
  return std::count_if(
      ranks_.begin(), ranks_.end(),
      [&](const RankRecord& rank) { return IsOn(rank, worker); });
}

std::vector<Node> RankRoster::Workers() const {
  std::vector<Node> workers;
  for (const RankRecord& rank : ranks_) {
    if (rank.done || !rank.worker.has_value()) continue;
    const bool known =
        std::any_of(workers.begin(), workers.end(), [&](const Node& worker) {
          return worker.incarnation == rank.worker->incarnation;
        });
    if (!known) workers.push_back(*rank.worker);
  }
  return workers;
}

void RankRoster::See(absl::Span<const Clock> clocks, absl::Duration now) {
  for (size_t rank = 0; rank < seen_.size() && rank < clocks.size(); ++rank) {
    if (seen_[rank].clock == clocks[rank]) continue;
    seen_[rank] = {clocks[rank], now};
  }
}

void RankRoster::Excuse(absl::Duration now) {
  for (Seen& seen : seen_) seen.since = now;
}

std::optional<uint32_t> RankRoster::FindStalled(
    absl::Duration timeout, bool in_step, const std::vector<bool>& waits_at_end,
    absl::Duration now) const {
  Clock furthest;
  bool someone_waits = false;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    furthest = std::max(furthest, seen_[rank].clock);
    someone_waits = someone_waits || waits_at_end[rank];
  }
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].done || !ranks_[rank].worker.has_value()) continue;
    if (waits_at_end[rank] || now - seen_[rank].since <= timeout) continue;
    // All clocks of the slowest are alike to those who wait for it.
    const bool behind = in_step && seen_[rank].clock < furthest;
    if (!behind && !someone_waits) continue;
    const bool slowest = std::none_of(
        seen_.begin(), seen_.end(),
        [&](const Seen& other) { return other.clock < seen_[rank].clock; });
    if (slowest) return rank;
  }
  return std::nullopt;
}

std::string RanksText(absl::Span<const uint32_t> ranks) {
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ",
                      absl::StrJoin(ranks, ", "));
}

}  // namespace seraph
