// A partition and its other replicas.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "server/core/partition.h"
#include "server/core/partition_snapshot.h"
#include "server/functions/function_registry.h"

namespace seraph {

void Partition::OnPeerMessage(PeerMessage message, absl::Duration now,
                              Effects* effects) {
  if (message.table != options_.table_index ||
      message.partition != options_.partition || message.to != replica_.self) {
    return;
  }
  if (message.epoch > epoch_) {
    // Its order is on its way. Until then nothing more is said to the old one.
    heard_epoch_ = std::max(heard_epoch_, message.epoch);
    if (!IsPlanted(PlantedBug::kSkipEpochCheck)) return;
  }
  const bool late = IsPlanted(PlantedBug::kTakeLateSnapshot) &&
                    std::holds_alternative<SnapshotPiece>(message.body);
  if ((message.epoch < epoch_ || Deaf()) &&
      !IsPlanted(PlantedBug::kSkipEpochCheck) && !late) {
    return;
  }
  if (leads()) {
    // A member or the recruit, in this incarnation; nobody else.
    if (PeerLink* peer = FindPeer(message.from); peer != nullptr) {
      OnPeer(peer, message, now);
      Finish(now, effects);
    }
  } else if ((duty_ == ReplicaDuty::kFollow || duty_ == ReplicaDuty::kJoin) &&
             (message.from == primary_ || late)) {
    OnPrimary(std::move(message), now, effects);
  }
}

// The primary's side ---------------------------------------------------------

PeerLink* Partition::FindPeer(uint64_t incarnation) {
  const auto found =
      std::find_if(peers_.begin(), peers_.end(), [&](const PeerLink& peer) {
        return peer.node().incarnation == incarnation;
      });
  return found == peers_.end() ? nullptr : &*found;
}

void Partition::OnPeer(PeerLink* peer, const PeerMessage& message,
                       absl::Duration now) {
  if (const auto* tell = std::get_if<TellPosition>(&message.body)) {
    peer->OnTell(*tell, *state_, tail_, now);
  } else if (const auto* confirm = std::get_if<ConfirmRecords>(&message.body)) {
    peer->OnConfirm(*confirm, *state_, now);
  } else if (const auto* taken = std::get_if<TakenPieces>(&message.body)) {
    peer->OnTaken(*taken, now);
  }
}

void Partition::Pump(absl::Duration now, Effects* effects) {
  if (peers_.empty()) {
    tail_.Start(state_->records());
    return;
  }
  uint64_t commit = state_->records();
  for (const PeerLink& peer : peers_) {
    if (peer.awaited()) commit = std::min(commit, peer.confirmed());
  }
  tail_.Commit(commit);
  uint64_t needed = tail_.commit();
  for (PeerLink& peer : peers_) {
    if (peer.NeedsSnapshot()) GiveSnapshot(&peer, now);
    if (!peer.is_member() && peer.snapshot_number().has_value()) {
      needed =
          std::min(needed, std::max(*peer.snapshot_number(), peer.confirmed()));
    }
  }
  tail_.TrimTo(needed);
  for (PeerLink& peer : peers_) {
    PeerLink::Bodies bodies;
    peer.Pump(*state_, tail_, replica_.window_bytes, now, &bodies);
    SendAll(peer.node().incarnation, std::move(bodies), effects);
  }
  ServeRecruit(now, effects);
}

void Partition::GiveSnapshot(PeerLink* peer, absl::Duration now) {
  Snapshot snapshot = EncodeSnapshot(*state_);
  peer->GiveSnapshot(++last_snapshot_, snapshot.position,
                     std::move(snapshot.bytes), replica_.piece_bytes, now);
}

// A recruit is waited for when all that is there is on its way to it, or when
// it does not get any nearer: from then on nothing is acknowledged without it.
// It is reported when it has what was there at that moment, and the others what
// it was given as a snapshot: it has no records of that for them.
void Partition::ServeRecruit(absl::Duration now, Effects* effects) {
  for (PeerLink& peer : peers_) {
    if (peer.is_member()) continue;
    const uint64_t last = state_->records();
    if (!peer.awaited() && peer.IsNear(last, replica_.lease, now)) {
      peer.Await(last);
    }
    if (!peer.IsReady() ||
        tail_.commit() < peer.snapshot_number().value_or(0)) {
      continue;
    }
    EndTickets(&recruit_tickets_, absl::OkStatus(), effects);
  }
}

void Partition::Recruit(uint64_t epoch, const Node& recruit, Ticket ticket,
                        absl::Duration now, Effects* effects) {
  absl::Status status = CheckOrder(epoch);
  PeerLink* peer = FindPeer(recruit.incarnation);
  if (status.ok() && peer == nullptr &&
      std::any_of(peers_.begin(), peers_.end(),
                  [](const PeerLink& other) { return !other.is_member(); })) {
    status = absl::AbortedError("the epoch has another recruit");
  }
  const bool is_done = peer != nullptr && peer->is_member();
  if (!status.ok() || is_done) {
    effects->done.push_back(DoneWith(ticket, std::move(status)));
    return;
  }
  recruit_tickets_.push_back(ticket);
  if (peer == nullptr) {
    PeerLink::Bodies bodies;
    peers_.emplace_back(recruit, /*is_member=*/false, now).Ask(now, &bodies);
    SendAll(recruit.incarnation, std::move(bodies), effects);
  }
  Finish(now, effects);
}

absl::Status Partition::CheckOrder(uint64_t epoch) const {
  if (leads() && epoch == epoch_ && !Deaf()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      "an order for the primary of epoch ", epoch, "; this replica is in ",
      std::max(epoch_, heard_epoch_), leads() ? "" : " and does not lead"));
}

void Partition::HandOver(uint64_t epoch, Ticket ticket, absl::Duration now,
                         Effects* effects) {
  if (absl::Status status = CheckOrder(epoch); !status.ok()) {
    effects->done.push_back(DoneWith(ticket, std::move(status)));
    return;
  }
  if (!handing_over_.has_value()) {
    handing_over_ = HandingOver{.until = now + replica_.lease};
  }
  handing_over_->tickets.push_back(ticket);
  Finish(now, effects);
}

void Partition::OnLinkBroken(uint64_t incarnation, absl::Duration now,
                             Effects* effects) {
  PeerLink* peer = leads() ? FindPeer(incarnation) : nullptr;
  if (peer == nullptr) return;
  PeerLink::Bodies bodies;
  peer->Ask(now, &bodies);
  SendAll(incarnation, std::move(bodies), effects);
}

void Partition::OnTick(absl::Duration now, Effects* effects) {
  told_gap_ = false;
  if (!leads()) return;
  // A process that was asleep itself has heard nobody, and complains of none.
  const bool slept = now - last_tick_ > replica_.lease / 2;
  last_tick_ = now;
  for (PeerLink& peer : peers_) {
    if (slept) peer.Excuse(now);
    PeerLink::Bodies bodies;
    peer.Tick(*state_, tail_, replica_.lease, now, &bodies);
    SendAll(peer.node().incarnation, std::move(bodies), effects);
    if (IsPlanted(PlantedBug::kPrimaryShrinksInSync) &&
        peer.IsSilent(state_->records(), replica_.lease, now)) {
      peer.GiveUp();
    }
  }
  if (handing_over_.has_value() && now >= handing_over_->until) {
    EndTickets(&handing_over_->tickets,
               absl::AbortedError("the hand-over took longer than a lease"),
               effects);
    handing_over_.reset();
    ReleaseHeld(now, effects);
  }
  if (cut_.IsLate(now))
    VoidCut("its hold took longer than a lease", now, effects);
  Finish(now, effects);
}

std::vector<Node> Partition::Complaints(absl::Duration now) const {
  std::vector<Node> nodes;
  if (!leads()) return nodes;
  for (const PeerLink& peer : peers_) {
    if (peer.IsSilent(state_->records(), replica_.lease, now)) {
      nodes.push_back(peer.node());
    }
  }
  return nodes;
}

// The member's side ----------------------------------------------------------

void Partition::OnPrimary(PeerMessage message, absl::Duration now,
                          Effects* effects) {
  if (auto* forward = std::get_if<ForwardRecord>(&message.body)) {
    OnForward(*forward, now, effects);
  } else if (const auto* ping = std::get_if<PingReplica>(&message.body)) {
    OnPing(*ping, now, effects);
  } else if (const auto* ask = std::get_if<AskPosition>(&message.body)) {
    Tell(ask->question, effects);
  } else if (auto* piece = std::get_if<SnapshotPiece>(&message.body)) {
    OnPiece(std::move(*piece), now, effects);
  }
}

void Partition::Tell(uint64_t question, Effects* effects) {
  TellPosition tell{.question = question, .holds = holds()};
  if (holds()) tell.last = state_->last();
  Send(primary_, tell, effects);
  if (!holds() && intake_.taken().pieces > 0) {
    Send(primary_, intake_.taken(), effects);
  }
}

void Partition::Confirm(LogPosition last, uint64_t sent_ms, absl::Duration now,
                        Effects* effects) {
  last_confirmed_at_ = now;
  Send(primary_, ConfirmRecords{.last = last, .sent_ms = sent_ms}, effects);
}

void Partition::HearCommit(uint64_t commit) {
  tail_.Commit(std::min(commit, state_->records()));
  tail_.TrimTo(tail_.commit());
}

// It keeps its log: an order may still make it a primary, and the only holder
// of what was acknowledged in it.
void Partition::BecomeDivergent() {
  divergent_ = true;
  if (IsPlanted(PlantedBug::kDiscardDivergentAtOnce)) {
    FreeState();
    divergent_ = false;
    duty_ = ReplicaDuty::kJoin;
  }
}

// Whether the message's sender could have it in its log, given that it has
// `theirs` there, and says so in this epoch. All that a primary appends in an
// epoch comes behind what it had at its beginning.
bool Partition::Diverges(LogPosition theirs) const {
  const LogPosition last = state_->last();
  return !aligned_ && theirs.number <= last.number && theirs != last;
}

void Partition::OnForward(const ForwardRecord& forward, absl::Duration now,
                          Effects* effects) {
  if (!holds() || divergent_) return Tell(0, effects);
  const LogPosition last = state_->last();
  const uint64_t number = forward.position.number;
  if (number == last.number + 1 && forward.before == last) {
    if (forward.record == nullptr || forward.position.epoch < last.epoch ||
        forward.position.epoch > epoch_ || !CheckRecord(*forward.record).ok()) {
      return;  // Never from a replica of ours: it is not confirmed.
    }
    aligned_ = true;
    told_gap_ = false;
    tail_.Append(forward.position, forward.record);
    state_->Fold(forward.position.epoch, forward.record);
    HearCommit(forward.commit);
    return Confirm(forward.position, forward.sent_ms, now, effects);
  }
  if (aligned_ && number <= last.number) {  // A repeat.
    HearCommit(forward.commit);
    return Confirm(last, forward.sent_ms, now, effects);
  }
  if (!aligned_) {
    // Records of one number are one record, or the logs are not one log.
    const bool other = number <= last.number
                           ? !state_->Contains(forward.position)
                           : number == last.number + 1;
    if (other) BecomeDivergent();
    if (other || forward.position == last) {
      aligned_ = !other;
      return Tell(0, effects);
    }
  }
  if (std::exchange(told_gap_, true)) return;
  Tell(0, effects);
}

void Partition::OnPing(const PingReplica& ping, absl::Duration now,
                       Effects* effects) {
  if (holds() && !divergent_) {
    if (ping.last == state_->last()) aligned_ = true;
    if (Diverges(ping.last)) BecomeDivergent();
  }
  if (!holds() || !aligned_) return Tell(0, effects);
  HearCommit(ping.commit);
  Confirm(state_->last(), ping.sent_ms, now, effects);
}

void Partition::OnPiece(SnapshotPiece piece, absl::Duration now,
                        Effects* effects) {
  // What is held is never set back, by a repeated snapshot neither.
  if ((holds() || duty_ != ReplicaDuty::kJoin) &&
      !IsPlanted(PlantedBug::kTakeLateSnapshot)) {
    return Tell(0, effects);
  }
  const bool whole = intake_.Take(std::move(piece));
  if (!whole) return Send(primary_, intake_.taken(), effects);
  absl::StatusOr<std::unique_ptr<PartitionState>> state = TakeSnapshot();
  if (!state.ok()) {
    // Damage is repaired by sending it again; for want of memory nothing helps:
    // it makes no progress, and the primary complains of it.
    if (!absl::IsDataLoss(state.status())) {
      failure_ = std::string(state.status().message());
      return;
    }
    intake_.Restart();
    return Send(primary_, intake_.taken(), effects);
  }
  state_ = *std::move(state);
  intake_.Restart();
  tail_.Start(state_->records());
  aligned_ = true;
  Confirm(state_->last(), /*sent_ms=*/0, now, effects);
}

absl::StatusOr<std::unique_ptr<PartitionState>> Partition::TakeSnapshot()
    const {
  absl::StatusOr<std::unique_ptr<RowStore>> store = make_store_();
  if (!store.ok()) return store.status();
  absl::StatusOr<std::unique_ptr<PartitionState>> state =
      DecodeSnapshot(intake_.bytes(), options_, *std::move(store));
  if (state.ok() && (*state)->last() != intake_.position()) {
    return absl::DataLossError("the snapshot is of another position");
  }
  return state;
}

absl::Status Partition::CheckRecord(const LogRecord& record) const {
  return std::visit(
      [&](const auto& one) {
        if constexpr (requires { one.rank; }) {
          if (one.rank.rank >= state_->ranks()) {
            return absl::InvalidArgumentError("no such rank");
          }
        }
        // A function that is not here, or in another version, is for another
        // server's replica.
        if constexpr (requires { one.calls; }) {
          for (const FunctionCall& call : one.calls) {
            if (absl::Status status = CheckCall(call); !status.ok()) {
              return status;
            }
          }
        }
        if constexpr (requires { one.has_effect; }) {
          if (!one.has_effect) {
            if (absl::Status status = CheckCall(one.call); !status.ok()) {
              return status;
            }
          }
        }
        if constexpr (requires { one.keys; }) {
          if (one.values.size() != one.keys.size() * options_.table.width) {
            return absl::InvalidArgumentError("keys and values do not fit");
          }
          return state_->store().CheckKeys(one.keys);
        }
        return absl::OkStatus();
      },
      record);
}

absl::Status Partition::CheckCall(const FunctionCall& call) const {
  return FunctionRegistry::BuiltIns().PlanLogged(call, options_.table).status();
}

}  // namespace seraph
