#include "server/core/cut_hold.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"

namespace seraph {
namespace {

absl::Status IsVoid(uint64_t cut, absl::string_view why) {
  return absl::AbortedError(absl::StrCat("cut ", cut, " is void: ", why));
}

}  // namespace

Clock CutClock(SyncMode mode, const RankProgress& rank) {
  if (mode != SyncMode::kBsp) return rank.next;
  if (rank.last_entry.has_value()) return rank.last_entry->NextStep();
  // Since a restore it has sent nothing. Behind the end of an epoch it stands
  // at every step of that one.
  if (rank.next.step == 0 && rank.next.epoch > 0) {
    return {rank.next.epoch - 1, 1};
  }
  return rank.next;
}

bool StandsAtCut(SyncMode mode, Clock next, Clock cut) {
  if (next == cut) return true;
  // Step 0 is no step of an epoch that a rank can have ended: whoever ended
  // epoch e has an entry at or after (e, 0), and answers (e, 1) or later.
  return mode == SyncMode::kBsp && cut.step > 0 && next == cut.NextEpoch();
}

bool RestsAtCut(absl::Span<const Clock> next, Clock cut) {
  return *std::min_element(next.begin(), next.end()) == cut;
}

bool CutHold::Holds(uint32_t rank, Clock clock) const {
  if (!holding() || IsPlanted(PlantedBug::kCutWithoutStaging)) return false;
  return !clocks_.has_value() || clock >= (*clocks_)[rank];
}

absl::StatusOr<std::vector<Clock>> CutHold::Begin(uint64_t cut,
                                                  std::vector<Clock> answer,
                                                  absl::Duration until) {
  if (cut <= void_) return IsVoid(cut, "its hold has ended here");
  if (cut < id_ || cut <= copied_id_) return IsVoid(cut, "it is older");
  if (cut == id_) {
    if (answer_.empty()) return IsVoid(cut, "its clocks are chosen");
    return answer_;
  }
  VoidUpTo(cut - 1);
  id_ = cut;
  until_ = until;
  answer_ = std::move(answer);
  return answer_;
}

absl::Status CutHold::Take(uint64_t cut, std::vector<Clock> clocks,
                           bool at_rest, absl::Span<const Clock> next,
                           absl::Duration until) {
  if (IsCopied(cut)) return absl::OkStatus();
  if (cut <= void_) return IsVoid(cut, "its hold has ended here");
  if (cut < id_ || cut <= copied_id_) return IsVoid(cut, "it is older");
  if (cut == id_ && clocks_.has_value()) {
    if (clocks == *clocks_) return absl::OkStatus();
    VoidUpTo(cut);
    return IsVoid(cut, "it was given two places");
  }
  if (clocks.size() != next.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a cut of ", clocks.size(), " ranks; the job has ", next.size()));
  }
  if (at_rest) {
    const Clock slowest = *std::min_element(next.begin(), next.end());
    const bool uniform = std::all_of(clocks.begin(), clocks.end(),
                                     [&](Clock k) { return k == clocks[0]; });
    if (mode_ != SyncMode::kBsp || !uniform || slowest > clocks[0]) {
      VoidUpTo(cut);
      return IsVoid(cut,
                    absl::StrCat("the slowest rank is at ", ToString(slowest),
                                 ", past ", ToString(clocks[0])));
    }
  }
  for (size_t rank = 0; !at_rest && rank < next.size(); ++rank) {
    if (next[rank] > clocks[rank] &&
        !StandsAtCut(mode_, next[rank], clocks[rank])) {
      VoidUpTo(cut);
      return IsVoid(cut,
                    absl::StrCat("rank ", rank, " is at ", ToString(next[rank]),
                                 ", past ", ToString(clocks[rank])));
    }
  }
  if (cut > id_) {
    VoidUpTo(cut - 1);
    id_ = cut;
  }
  until_ = until;
  clocks_ = std::move(clocks);
  at_rest_ = at_rest;
  return absl::OkStatus();
}

std::optional<Clock> CutHold::rest() const {
  if (!clocks_.has_value() || !at_rest_) return std::nullopt;
  return clocks_->front();
}

bool CutHold::IsDue(absl::Span<const Clock> next) const {
  if (!clocks_.has_value()) return false;
  if (IsPlanted(PlantedBug::kCutBetweenPartitions)) return true;
  if (at_rest_) return RestsAtCut(next, clocks_->front());
  for (size_t rank = 0; rank < next.size(); ++rank) {
    if (!StandsAtCut(mode_, next[rank], (*clocks_)[rank])) return false;
  }
  return true;
}

void CutHold::Copied(PartitionCopy copy, std::vector<Clock> clocks) {
  copied_id_ = id_;
  copied_clocks_ = std::move(clocks);
  copy_ = std::move(copy);
  id_ = 0;
  clocks_.reset();
  answer_.clear();
}

absl::StatusOr<PartitionCopy> CutHold::Move(uint64_t cut) {
  if (!IsCopied(cut) || !copy_.has_value()) {
    return absl::NotFoundError(absl::StrCat("no copy of cut ", cut, " here"));
  }
  PartitionCopy copy = *std::move(copy_);
  copy_.reset();
  return copy;
}

size_t CutHold::copied_bytes() const {
  if (!copy_.has_value()) return 0;
  size_t bytes = 0;
  for (const CopiedBlock& block : copy_->blocks) {
    bytes +=
        block.keys.size() * sizeof(Key) + block.cells.size() * sizeof(float);
  }
  return bytes;
}

void CutHold::VoidUpTo(uint64_t cut) {
  void_ = std::max(void_, cut);
  if (id_ != 0 && id_ <= cut) {
    id_ = 0;
    clocks_.reset();
    answer_.clear();
  }
  if (copied_id_ != 0 && copied_id_ <= cut) {
    copied_id_ = 0;
    copied_clocks_.clear();
    copy_.reset();
  }
}

}  // namespace seraph
