#include "server/core/partition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"

namespace seraph {

Partition::Partition(PartitionOptions options, ReplicaSetup replica,
                     MakeStore make_store,
                     std::unique_ptr<PartitionState> state)
    : options_(std::move(options)),
      replica_(replica),
      make_store_(std::move(make_store)),
      state_(std::move(state)),
      cut_(options_.sync.spec.mode) {
  if (state_ != nullptr) tail_.Start(state_->records());
}

const std::string& Partition::failure() const {
  return failure_.empty() && state_ != nullptr ? state_->failure() : failure_;
}

ReplicaState Partition::State() const {
  return {.table = options_.table_index,
          .partition = options_.partition,
          .epoch = epoch_,
          .duty = duty_,
          .last = state_ == nullptr ? LogPosition{} : state_->last(),
          .divergent = divergent_};
}

ReplicaState Partition::Configure(const ReplicaOrder& order, absl::Duration now,
                                  Effects* effects) {
  if (order.epoch <= epoch_) return State();
  const bool led = leads();
  const bool is_first = epoch_ == 0;
  ReplicaDuty duty = order.duty;
  if (!holds() && duty != ReplicaDuty::kJoin) duty = ReplicaDuty::kDrop;
  const bool lead = duty == ReplicaDuty::kLead;

  epoch_ = order.epoch;
  heard_epoch_ = std::max(heard_epoch_, epoch_);
  EndEpoch(/*still_leads=*/led && lead, effects);
  const std::vector<PeerLink> before = std::exchange(peers_, {});
  duty_ = duty;
  primary_ = order.primary.incarnation;
  aligned_ = divergent_ = told_gap_ = false;
  intake_ = SnapshotIntake();
  switch (duty_) {
    case ReplicaDuty::kCollect:
      break;
    case ReplicaDuty::kLead:
      promoted_ = !led && !is_first;
      if (promoted_ && !IsPlanted(PlantedBug::kNoQuietTime)) {
        quiet_until_ = last_confirmed_at_.value_or(-absl::InfiniteDuration()) +
                       1.1 * replica_.lease;
      }
      BecomePrimary(order, now, effects);
      if (IsPlanted(PlantedBug::kRecruitDeathBlocks)) {
        for (const PeerLink& peer : before) {
          if (peer.awaited() && FindPeer(peer.node().incarnation) == nullptr) {
            peers_.emplace_back(peer.node(), /*is_member=*/true, now);
          }
        }
      }
      ReleaseHeld(now, effects);
      Finish(now, effects);
      break;
    case ReplicaDuty::kJoin:
      FreeState();
      Tell(0, effects);
      break;
    case ReplicaDuty::kFollow:
      Tell(0, effects);
      break;
    case ReplicaDuty::kDrop:
      FreeState();
      break;
  }
  return State();
}

void Partition::BecomePrimary(const ReplicaOrder& order, absl::Duration now,
                              Effects* effects) {
  members_ = 1;
  last_tick_ = now;
  for (const Node& node : order.members) {
    if (node.incarnation == replica_.self) continue;
    ++members_;
    PeerLink::Bodies bodies;
    peers_.emplace_back(node, /*is_member=*/true, now).Ask(now, &bodies);
    SendAll(node.incarnation, std::move(bodies), effects);
  }
}

// Orders of the epoch end with it. Clients of a primary that goes on notice
// nothing; else they have to ask the next one.
void Partition::EndEpoch(bool still_leads, Effects* effects) {
  const absl::Status ended =
      absl::AbortedError(absl::StrCat("epoch ", epoch_, " has begun"));
  EndTickets(&recruit_tickets_, ended, effects);
  EndTickets(&cut_.tickets, ended, effects);
  cut_.VoidAll();
  if (handing_over_.has_value()) {
    EndTickets(&handing_over_->tickets, ended, effects);
  }
  handing_over_.reset();
  if (!still_leads) RefuseAll(NotLedHere(), effects);
}

void Partition::RefuseAll(const PartOutcome& why, Effects* effects) {
  for (Pending& pending : std::exchange(pending_, {})) {
    if (auto* answer = std::get_if<Answer>(&pending.what)) {
      effects->answers.push_back(AnswerTo(answer->ticket, why));
    } else {
      effects->done.push_back(DoneWith(std::get<Done>(pending.what).ticket,
                                       absl::UnavailableError(why.message)));
    }
  }
  for (const PullMessage& pull : std::exchange(parked_, {})) {
    effects->answers.push_back(AnswerTo(pull.ticket, why));
  }
  for (const PushMessage& push : std::exchange(held_, {})) {
    effects->answers.push_back(AnswerTo(push.ticket, why));
  }
  held_bytes_ = 0;
  for (const Ticket ticket : stage_.DropAll()) {
    effects->answers.push_back(AnswerTo(ticket, why));
  }
}

void Partition::FreeState() {
  state_.reset();
  tail_ = LogTail();
}

void Partition::AppendShared(RecordPtr shared, KeyList* list) {
  // Alone it keeps nothing of it.
  if (!peers_.empty()) {
    tail_.Append({epoch_, state_->records() + 1}, shared);
  }
  state_->Fold(epoch_, std::move(shared), list);
  if (peers_.empty()) tail_.Start(state_->records());
}

std::optional<uint64_t> Partition::Acknowledged(absl::Duration now) const {
  if (!leads() || Deaf() || members_ < replica_.min_in_sync) {
    return std::nullopt;
  }
  // Somebody may still answer pulls who knows nothing of what would leave here.
  if (options_.sync.spec.mode == SyncMode::kAsp && now < quiet_until_) {
    return std::nullopt;
  }
  uint64_t number = state_->records();
  if (IsPlanted(PlantedBug::kAcknowledgeBeforeBackup)) return number;
  for (const PeerLink& peer : peers_) {
    if (peer.awaited()) number = std::min(number, peer.confirmed());
  }
  return number;
}

bool Partition::NeedsLease() const {
  return options_.sync.spec.mode == SyncMode::kAsp && awaited() > 0;
}

absl::Duration Partition::LeaseEnd() const {
  absl::Duration end = absl::InfiniteDuration();
  for (const PeerLink& peer : peers_) {
    if (!peer.awaited()) continue;
    end = std::min(end, peer.lease_from().has_value()
                            ? *peer.lease_from() + replica_.lease
                            : -absl::InfiniteDuration());
  }
  return end;
}

void Partition::Finish(absl::Duration now, Effects* effects) {
  if (!leads()) return;
  while (CopyIfDue(now, effects)) ReleaseHeld(now, effects);
  AnswerParked(now, effects);
  Pump(now, effects);
  Settle(now, effects);
}

void Partition::Settle(absl::Duration now, Effects* effects) {
  const std::optional<uint64_t> acknowledged = Acknowledged(now);
  if (!acknowledged.has_value()) return;
  while (!pending_.empty() && pending_.front().number <= *acknowledged) {
    Pending next = std::move(pending_.front());
    pending_.pop_front();
    Leave(std::move(next), now, effects);
  }
  if (!handing_over_.has_value() || *acknowledged < state_->records()) return;
  for (const Ticket ticket : std::exchange(handing_over_->tickets, {})) {
    Done done = DoneWith(ticket, absl::OkStatus());
    done.last = state_->last();
    effects->done.push_back(std::move(done));
  }
}

void Partition::Leave(Pending pending, absl::Duration now, Effects* effects) {
  if (auto* done = std::get_if<Done>(&pending.what)) {
    done->epoch = epoch_;
    if (pending.rank.has_value()) done->progress = state_->rank(*pending.rank);
    effects->done.push_back(std::move(*done));
    return;
  }
  Answer& answer = std::get<Answer>(pending.what);
  answer.epoch = epoch_;
  if (pending.pull.has_value() && NeedsLease()) {
    const absl::Duration end = LeaseEnd();
    if (now >= end) {  // It is read again when there is one.
      parked_.push_back(*std::move(pending.pull));
      return;
    }
    answer.valid_until = end;
  }
  effects->answers.push_back(std::move(answer));
}

void Partition::Send(uint64_t to, Body body, Effects* effects) {
  effects->messages.push_back({.table = options_.table_index,
                               .partition = options_.partition,
                               .epoch = epoch_,
                               .from = replica_.self,
                               .to = to,
                               .body = std::move(body)});
}

void Partition::SendAll(uint64_t to, PeerLink::Bodies bodies,
                        Effects* effects) {
  for (Body& body : bodies) Send(to, std::move(body), effects);
}

Answer Partition::AnswerTo(Ticket ticket, PartOutcome outcome) const {
  return {.ticket = ticket,
          .outcome = std::move(outcome),
          .epoch = epoch_,
          .position = state_ == nullptr ? 0 : state_->records(),
          .values = {}};
}

Done Partition::DoneWith(Ticket ticket, absl::Status status) const {
  return {.ticket = ticket, .status = std::move(status), .epoch = epoch_};
}

void Partition::EndTickets(std::vector<Ticket>* tickets,
                           const absl::Status& status, Effects* effects) const {
  for (const Ticket ticket : std::exchange(*tickets, {})) {
    effects->done.push_back(DoneWith(ticket, status));
  }
}

PartOutcome Partition::NotLedHere() const {
  return {.code = PartCode::kStaleEpoch,
          .message = absl::StrCat("in epoch ", epoch_,
                                  " this server does not lead the partition")};
}

void Partition::Fail(std::string reason, absl::Duration now, Effects* effects) {
  if (failure_.empty()) failure_ = std::move(reason);
  ReleaseHeld(now, effects);
  Finish(now, effects);
}

void Partition::Close(Effects* effects) {
  const PartOutcome gone{.code = PartCode::kNotHere,
                         .message = "the job's partitions were dropped"};
  RefuseAll(gone, effects);
  const absl::Status ended = absl::AbortedError(gone.message);
  EndTickets(&recruit_tickets_, ended, effects);
  EndTickets(&cut_.tickets, ended, effects);
  if (handing_over_.has_value()) {
    EndTickets(&handing_over_->tickets, ended, effects);
  }
}

size_t Partition::awaited() const {
  return std::count_if(peers_.begin(), peers_.end(),
                       [](const PeerLink& peer) { return peer.awaited(); });
}

bool Partition::IsFree() const {
  return leads() && parked_.empty() && pending_.empty() && held_.empty() &&
         !cut_.holding() && !handing_over_.has_value() &&
         !state_->entries_wait();
}

size_t Partition::bytes() const {
  size_t bytes = stage_.bytes() + held_bytes_ + tail_.bytes() +
                 intake_.bytes().size() + cut_.copied_bytes();
  if (state_ != nullptr) bytes += state_->bytes();
  for (const PeerLink& peer : peers_) bytes += peer.bytes();
  return bytes;
}

}  // namespace seraph
