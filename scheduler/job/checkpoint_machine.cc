#include "scheduler/job/checkpoint_machine.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"

namespace seraph {

bool IsOfCheckpoint(const OrderBody& body) {
  return std::holds_alternative<BeginCut>(body) ||
         std::holds_alternative<TakeCut>(body) ||
         std::holds_alternative<WriteCut>(body) ||
         std::holds_alternative<WriteManifest>(body) ||
         std::holds_alternative<PruneCheckpoints>(body);
}

void CheckpointMachine::TakeAt(uint64_t cut, std::vector<PrimaryOf> primaries,
                               std::vector<Clock> clocks,
                               CheckpointSteps* steps) {
  cut_ = cut;
  at_rest_ = false;
  primaries_ = std::move(primaries);
  clocks_ = std::move(clocks);
  begun_at_.clear();
  SendTake(steps);
}

void CheckpointMachine::TakeNow(uint64_t cut, std::vector<PrimaryOf> primaries,
                                bool a_rank_waits, CheckpointSteps* steps) {
  cut_ = cut;
  at_rest_ = a_rank_waits && options_.one_clock;
  primaries_ = std::move(primaries);
  clocks_.clear();
  begun_at_.clear();
  stage_ = Stage::kBegin;
  for (const PrimaryOf& primary : primaries_) {
    awaited_.insert(primary.server.incarnation);
    steps->orders.emplace_back(primary.server, BeginCut{cut_, at_rest_});
  }
}

void CheckpointMachine::SendTake(CheckpointSteps* steps) {
  stage_ = Stage::kTake;
  if (increments_ > kIncrements) {
    base_ = 0;
    increments_ = 0;
  }
  for (const PrimaryOf& primary : primaries_) {
    awaited_.insert(primary.server.incarnation);
    TakeCut take{cut_, clocks_, primary.partitions, base_, at_rest_};
    const auto own = begun_at_.find(primary.server.incarnation);
    if (IsPlanted(PlantedBug::kCutBetweenPartitions) &&
        own != begun_at_.end()) {
      take.clocks = own->second;
    }
    steps->orders.emplace_back(primary.server, std::move(take));
  }
  clocks_.clear();  // Those that come back count.
}

void CheckpointMachine::Take(const Order& order, const absl::Status& status,
                             const ReplyBody& body, CheckpointSteps* steps) {
  if (std::holds_alternative<PruneCheckpoints>(order.body)) {
    if (stage_ == Stage::kPrune) stage_ = Stage::kIdle;
    return;
  }
  if (const auto* manifest = std::get_if<WriteManifest>(&order.body)) {
    if (stage_ != Stage::kManifest || manifest->cut != cut_) return;
    if (!status.ok()) return GiveUp(status, steps);
    manifest_ = std::get<ManifestWritten>(body).manifest;
    base_ = cut_;
    ++increments_;
    base_files_.clear();
    for (const CutPart& part : parts_) {
      for (const CutFile& file : part.files) base_files_.insert(file.name);
    }
    steps->complete = true;
    Drop(steps);
    stage_ = Stage::kPrune;
    steps->orders.emplace_back(
        std::nullopt,
        PruneCheckpoints{options_.directory, options_.keep, manifest_});
    return;
  }
  const auto* begin = std::get_if<BeginCut>(&order.body);
  const auto* take = std::get_if<TakeCut>(&order.body);
  const auto* write = std::get_if<WriteCut>(&order.body);
  const bool is_of_now =
      (begin != nullptr && stage_ == Stage::kBegin && begin->cut == cut_) ||
      (take != nullptr && stage_ == Stage::kTake && take->cut == cut_) ||
      (write != nullptr && stage_ == Stage::kWrite && write->cut == cut_);
  if (!is_of_now) return;
  if (!status.ok()) return GiveUp(status, steps);
  if (awaited_.erase(order.to->incarnation) == 0) return;
  if (write != nullptr) {
    const std::vector<CutPart>& parts = std::get<CutWritten>(body).parts;
    parts_.insert(parts_.end(), parts.begin(), parts.end());
    if (awaited_.empty()) WroteAll(steps);
    return;
  }
  const std::vector<Clock>& clocks = std::get<CutClocks>(body).clocks;
  if (begin != nullptr) {
    begun_at_[order.to->incarnation] = clocks;
    clocks_.resize(std::max(clocks_.size(), clocks.size()));
    for (size_t rank = 0; rank < clocks.size(); ++rank) {
      clocks_[rank] = std::max(clocks_[rank], clocks[rank]);
    }
    if (!awaited_.empty()) return;
    if (options_.one_clock && !clocks_.empty()) {
      const Clock chosen =
          at_rest_ ? *std::min_element(clocks_.begin(), clocks_.end())
                   : *std::max_element(clocks_.begin(), clocks_.end());
      clocks_.assign(clocks_.size(), chosen);
    }
    return SendTake(steps);
  }
  if (clocks_.empty()) {
    clocks_ = clocks;
  } else if (clocks_ != clocks &&
             !IsPlanted(PlantedBug::kCutBetweenPartitions)) {
    const auto [here, there] = std::mismatch(clocks_.begin(), clocks_.end(),
                                             clocks.begin(), clocks.end());
    const size_t rank = here - clocks_.begin();
    return GiveUp(
        absl::AbortedError(absl::StrCat(
            "the copies of two servers are of different clocks: rank ", rank,
            " is at ", here == clocks_.end() ? "none" : ToString(*here),
            " and, on server ", order.to->name, ", at ",
            there == clocks.end() ? "none" : ToString(*there))),
        steps);
  }
  if (awaited_.empty()) TookAll(steps);
}

void CheckpointMachine::TookAll(CheckpointSteps* steps) {
  steps->ranks_may_go_on = true;
  stage_ = Stage::kWrite;
  parts_.clear();
  for (const PrimaryOf& primary : primaries_) {
    awaited_.insert(primary.server.incarnation);
    steps->orders.emplace_back(primary.server,
                               WriteCut{cut_, options_.directory, base_});
  }
}

void CheckpointMachine::WroteAll(CheckpointSteps* steps) {
  size_t partitions = 0;
  for (const PrimaryOf& primary : primaries_) {
    partitions += primary.partitions.size();
  }
  if (parts_.size() != partitions) {
    return GiveUp(
        absl::InternalError(absl::StrCat("of ", partitions, " partitions ",
                                         parts_.size(), " were written")),
        steps);
  }
  std::sort(parts_.begin(), parts_.end(),
            [](const CutPart& a, const CutPart& b) {
              return std::pair(a.table, a.partition) <
                     std::pair(b.table, b.partition);
            });
  bytes_ = 0;
  for (const CutPart& part : parts_) {
    for (const CutFile& file : part.files) {
      if (base_ == 0 || !base_files_.contains(file.name)) bytes_ += file.bytes;
    }
  }
  stage_ = Stage::kManifest;
  asked_ = false;
  steps->written = true;
}

void CheckpointMachine::SendManifest(WriteManifest manifest,
                                     CheckpointSteps* steps) {
  asked_ = true;
  manifest.directory = options_.directory;
  manifest.cut = cut_;
  manifest.clocks = clocks_;
  manifest.parts = parts_;
  steps->orders.emplace_back(std::nullopt, std::move(manifest));
}

void CheckpointMachine::PlacementsChanged(CheckpointSteps* steps) {
  if (taking()) {
    GiveUp(absl::AbortedError("a partition's servers have changed meanwhile"),
           steps);
  }
}

void CheckpointMachine::LoseServer(const Node& server, CheckpointSteps* steps) {
  const size_t gone = std::erase_if(primaries_, [&](const PrimaryOf& primary) {
    return primary.server.incarnation == server.incarnation;
  });
  if (gone == 0) return;
  if (stage_ != Stage::kBegin && stage_ != Stage::kTake &&
      stage_ != Stage::kWrite) {
    return;  // Nothing of it is needed.
  }
  GiveUp(absl::AbortedError(
             absl::StrCat("server ", server.name, " is gone with its copies")),
         steps);
}

void CheckpointMachine::Drop(CheckpointSteps* steps) {
  for (const PrimaryOf& primary : primaries_) {
    steps->orders.emplace_back(primary.server, DropCut{cut_});
  }
}

void CheckpointMachine::GiveUp(const absl::Status& why,
                               CheckpointSteps* steps) {
  if (taking()) steps->ranks_may_go_on = true;
  Drop(steps);
  stage_ = Stage::kIdle;
  awaited_.clear();
  // What became of its files is not known: the next one stands alone.
  base_ = 0;
  increments_ = 0;
  steps->given_up = why;
}

}  // namespace seraph
