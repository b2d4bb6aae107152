#include "server/core/peer_link.h"

#include <algorithm>
#include <utility>

#include "common/base/planted_bug.h"

namespace seraph {
namespace {

uint64_t Milliseconds(absl::Duration time) {
  return static_cast<uint64_t>(absl::ToInt64Milliseconds(time));
}

}  // namespace

void PeerLink::Ask(absl::Duration now, Bodies* out) {
  if (stage_ == Stage::kLost) return;
  stage_ = Stage::kAsked;
  out->emplace_back(AskPosition{.question = ++question_});
  sent_ = now;
}

void PeerLink::Advance(uint64_t number, absl::Duration now) {
  if (number <= confirmed_) return;
  confirmed_ = number;
  progress_ = now;
}

void PeerLink::EnterLine(uint64_t number, absl::Duration now) {
  stage_ = Stage::kInLine;
  in_line_since_ = now;
  has_log_ = true;
  snapshot_.reset();
  progress_ = now;
  Advance(number, now);
  next_ = confirmed_ + 1;
}

void PeerLink::OnTell(const TellPosition& tell, const PartitionState& state,
                      const LogTail& tail, absl::Duration now) {
  heard_ = now;
  if (stage_ == Stage::kLost) return;
  if (!tell.holds) {
    if (has_log_) return;  // Told before it took the snapshot.
    if (is_member_ && !IsPlanted(PlantedBug::kDiscardDivergentAtOnce)) {
      stage_ = Stage::kLost;
      return;
    }
    if (stage_ != Stage::kSnapshot) {
      stage_ = Stage::kSnapshot;
      pieces_sent_ = pieces_taken_;
      progress_ = now;
    }
    return;
  }
  // What it told before more was confirmed is old.
  const uint64_t number = std::max(tell.last.number, confirmed_);
  if (!state.Contains(tell.last) || number < tail.base()) {
    stage_ = Stage::kLost;
  } else if (stage_ != Stage::kInLine) {
    EnterLine(number, now);
  } else {
    Advance(number, now);
    next_ = std::min(next_, number + 1);
  }
}

void PeerLink::OnConfirm(const ConfirmRecords& confirm,
                         const PartitionState& state, absl::Duration now) {
  heard_ = now;
  if (stage_ == Stage::kLost) return;
  if (!state.Contains(confirm.last)) {
    stage_ = Stage::kLost;
    return;
  }
  if (confirm.sent_ms != 0) {
    const absl::Duration sent =
        std::min(now, absl::Milliseconds(confirm.sent_ms));
    lease_from_ = std::max(lease_from_.value_or(sent), sent);
  }
  if (stage_ != Stage::kInLine) {
    EnterLine(confirm.last.number, now);
  } else {
    Advance(confirm.last.number, now);
    next_ = std::max(next_, confirmed_ + 1);
  }
}

void PeerLink::OnTaken(const TakenPieces& taken, absl::Duration now) {
  heard_ = now;
  if (stage_ != Stage::kSnapshot || taken.snapshot != snapshot_id_) return;
  if (taken.pieces > pieces_taken_) progress_ = now;
  // Fewer than before: what it has put together was no snapshot.
  if (taken.pieces == 0) pieces_sent_ = 0;
  pieces_taken_ = std::min(taken.pieces, pieces_);
  pieces_sent_ = std::max(pieces_sent_, pieces_taken_);
}

void PeerLink::GiveSnapshot(uint64_t id, LogPosition position,
                            std::string bytes, size_t piece_bytes,
                            absl::Duration now) {
  snapshot_id_ = id;
  snapshot_number_ = position.number;
  snapshot_position_ = position;
  snapshot_ = std::make_unique<const std::string>(std::move(bytes));
  piece_bytes_ = piece_bytes;
  pieces_ =
      std::max<size_t>(1, (snapshot_->size() + piece_bytes - 1) / piece_bytes);
  pieces_sent_ = pieces_taken_ = 0;
  progress_ = now;
}

void PeerLink::Pump(const PartitionState& state, const LogTail& tail,
                    size_t window_bytes, absl::Duration now, Bodies* out) {
  if (stage_ == Stage::kSnapshot && snapshot_ != nullptr) {
    while (
        pieces_sent_ < pieces_ &&
        (pieces_sent_ == pieces_taken_ ||
         (pieces_sent_ + 1 - pieces_taken_) * piece_bytes_ <= window_bytes)) {
      const uint32_t piece = pieces_sent_++;
      out->emplace_back(SnapshotPiece{
          .snapshot = snapshot_id_,
          .piece = piece,
          .pieces = pieces_,
          .position = snapshot_position_,
          .data = snapshot_->substr(piece * piece_bytes_, piece_bytes_)});
      sent_ = now;
    }
    return;
  }
  if (stage_ != Stage::kInLine) return;
  if (next_ <= tail.base() && next_ <= tail.last()) {
    stage_ = Stage::kLost;
    return;
  }
  for (; next_ <= tail.last(); ++next_) {
    const LogTail::Kept& kept = tail.At(next_);
    const uint64_t behind = std::max(confirmed_, tail.base());
    if (next_ - 1 > behind && tail.BytesBetween(behind, next_) > window_bytes) {
      return;
    }
    if (confirmed_ + 1 == next_ && next_ > last_sent_) progress_ = now;
    last_sent_ = std::max(last_sent_, next_);
    ForwardRecord forward{.position = kept.position,
                          .commit = tail.commit(),
                          .sent_ms = Milliseconds(now),
                          .record = kept.record};
    if (next_ > 1) forward.before = {state.EpochOf(next_ - 1), next_ - 1};
    out->emplace_back(std::move(forward));
    sent_ = now;
  }
}

void PeerLink::Tick(const PartitionState& state, const LogTail& tail,
                    absl::Duration lease, absl::Duration now, Bodies* out) {
  const absl::Duration again = lease / 4;
  const bool may_resend = now - std::max(progress_, resent_) >= again;
  switch (stage_) {
    case Stage::kLost:
      break;  // A ping tells it so.
    case Stage::kAsked:
      if (now - sent_ >= again) Ask(now, out);
      return;
    case Stage::kSnapshot:
      if (pieces_sent_ > pieces_taken_ && may_resend) {
        pieces_sent_ = pieces_taken_;
        resent_ = now;
      }
      break;
    case Stage::kInLine:
      if (next_ > confirmed_ + 1 && may_resend) {
        next_ = confirmed_ + 1;
        resent_ = now;
      }
      break;
  }
  if (now - sent_ < lease / 8) return;
  out->emplace_back(PingReplica{.last = state.last(),
                                .commit = tail.commit(),
                                .sent_ms = Milliseconds(now)});
  sent_ = now;
}

void PeerLink::Excuse(absl::Duration now) { heard_ = progress_ = now; }

bool PeerLink::IsSilent(uint64_t last, absl::Duration lease,
                        absl::Duration now) const {
  if (stage_ == Stage::kLost || now - heard_ >= lease) return true;
  const bool owes = stage_ == Stage::kInLine
                        ? confirmed_ < last
                        : stage_ == Stage::kSnapshot && snapshot_ != nullptr;
  return owes && now - progress_ >= lease;
}

}  // namespace seraph
