#include "scheduler/job/training_progress.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {

TrainingProgress::TrainingProgress(uint32_t ranks,
                                   std::vector<MetricSums> finished)
    : ranks_(ranks), finished_(std::move(finished)) {
  for (const MetricSums& epoch : finished_)
    finished_examples_ += epoch.examples;
}

absl::Status TrainingProgress::Take(const LedgerReading& reading,
                                    absl::Duration now) {
  if (reading.ranks.size() != ranks_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the ledger has ", reading.ranks.size(), " ranks, not ", ranks_));
  }
  std::deque<PerRank> ends = ends_;
  PerRank latest(ranks_);
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    for (const LedgerEntry& end : reading.ranks[rank].epoch_ends) {
      if (end.clock.epoch < finished()) continue;
      const size_t place = end.clock.epoch - finished();
      if (place >= ends.size()) ends.resize(place + 1, PerRank(ranks_));
      SERAPH_ASSIGN_OR_RETURN(ends[place][rank],
                              MetricSums::FromArray(end.sums));
    }
    const std::optional<LedgerEntry>& entry = reading.ranks[rank].latest;
    if (entry.has_value()) {
      SERAPH_ASSIGN_OR_RETURN(latest[rank], MetricSums::FromArray(entry->sums));
    }
  }
  ends_ = std::move(ends);

  while (!ends_.empty() &&
         std::all_of(ends_.front().begin(), ends_.front().end(),
                     [](const auto& sums) { return sums.has_value(); })) {
    MetricSums epoch;
    for (const auto& sums : ends_.front()) epoch.Add(*sums);
    finished_.push_back(epoch);
    finished_examples_ += epoch.examples;
    ends_.pop_front();
  }

  running_ = MetricSums();
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    if (!ends_.empty() && ends_.front()[rank].has_value()) {
      running_.Add(*ends_.front()[rank]);
    } else if (latest[rank].has_value() &&
               reading.ranks[rank].latest->clock.epoch == finished()) {
      running_.Add(*latest[rank]);
    }
  }

  const double total = finished_examples_ + running_.examples;
  totals_.emplace_back(now, total);
  while (totals_.size() > 2 && totals_[1].first <= now - kRateWindow) {
    totals_.pop_front();
  }
  return absl::OkStatus();
}

double TrainingProgress::examples_per_second() const {
  if (totals_.size() < 2) return 0;
  const double seconds =
      absl::ToDoubleSeconds(totals_.back().first - totals_.front().first);
  if (seconds <= 0) return 0;
  return (totals_.back().second - totals_.front().second) / seconds;
}

}  // namespace seraph
