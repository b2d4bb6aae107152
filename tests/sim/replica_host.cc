#include "tests/sim/replica_host.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/status/errors.h"
#include "common/table/partitioning.h"
#include "server/store/make_row_store.h"

namespace seraph::testing {

ReplicaHost::ReplicaHost(ReplicaWorld* world, int machine, Node node)
    : world_(*world),
      machine_(machine),
      node_(std::move(node)),
      clock_(world->loop->ClockOf(machine)) {}

absl::Status ReplicaHost::Check(uint64_t generation) const {
  if (partition_ != nullptr && generation == generation_) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::FailedPreconditionError("another generation"),
      generation > generation_ ? "GENERATION_NEWER" : "GENERATION_STALE");
}

absl::Status ReplicaHost::CheckOrder(uint64_t generation,
                                     uint64_t incarnation) const {
  if (incarnation != node_.incarnation &&
      !IsPlanted(PlantedBug::kOrderFillsNewIncarnation)) {
    return absl::FailedPreconditionError("another incarnation");
  }
  if (generation < generation_) {
    return absl::FailedPreconditionError("an older generation");
  }
  return absl::OkStatus();
}

void ReplicaHost::Make(uint64_t generation, bool empty) {
  if (partition_ != nullptr) {
    Effects effects;
    partition_->Close(&effects);
    Do(std::move(effects));
  }
  generation_ = generation;
  assigned_ = false;
  stood_epoch_ = 0;
  heard_epoch_ = 0;
  const auto make_store = [table = world_.options.table,
                           partition = world_.options.partition] {
    return MakeRowStore(table, Partitioning(table).PartitionRange(partition));
  };
  std::unique_ptr<PartitionState> state;
  if (!empty) {
    state = std::make_unique<PartitionState>(world_.options, *make_store());
  }
  partition_ = std::make_unique<Partition>(
      world_.options,
      ReplicaSetup{.self = node_.incarnation,
                   .lease = world_.lease,
                   .min_in_sync = world_.min_in_sync,
                   .piece_bytes = world_.piece_bytes},
      make_store, std::move(state));
}

absl::StatusOr<Placed> ReplicaHost::Assign(uint64_t generation,
                                           uint64_t incarnation,
                                           const ReplicaOrder& order) {
  if (absl::Status status = CheckOrder(generation, incarnation); !status.ok()) {
    return status;
  }
  if (generation > generation_ || partition_ == nullptr ||
      IsPlanted(PlantedBug::kRepeatRestore)) {
    Make(generation, /*empty=*/false);
    assigned_ = true;
  }
  if (!assigned_) {
    return absl::FailedPreconditionError("the generation began otherwise");
  }
  Effects effects;
  partition_->Configure(order, now(), &effects);
  Do(std::move(effects));
  return Placed{node_.incarnation, generation_};
}

absl::StatusOr<Configured> ReplicaHost::Configure(uint64_t generation,
                                                  uint64_t incarnation,
                                                  const ReplicaOrder& order) {
  if (absl::Status status = CheckOrder(generation, incarnation); !status.ok()) {
    return status;
  }
  if (generation > generation_ || partition_ == nullptr) {
    Make(generation, /*empty=*/true);
  }
  Effects effects;
  Configured configured{.incarnation = node_.incarnation,
                        .generation = generation_};
  configured.replicas.push_back(partition_->Configure(order, now(), &effects));
  Do(std::move(effects));
  return configured;
}

void ReplicaHost::Recruit(uint64_t generation, uint64_t incarnation,
                          const RecruitReplica& order, Then<Recruited> then) {
  absl::Status status = CheckOrder(generation, incarnation);
  if (status.ok()) status = Check(generation);
  if (!status.ok()) return then(status);
  const Ticket ticket = ++last_ticket_;
  done_[ticket] = [then = std::move(then),
                   recruit = order.recruit.incarnation](auto done) {
    if (!done.ok() || !done->status.ok()) {
      return then(done.ok() ? done->status : done.status());
    }
    then(Recruited{done->epoch, recruit});
  };
  Effects effects;
  partition_->Recruit(order.epoch, order.recruit, ticket, now(), &effects);
  Do(std::move(effects));
}

void ReplicaHost::HandOver(uint64_t generation, uint64_t incarnation,
                           uint64_t epoch, Then<HandedOver> then) {
  absl::Status status = CheckOrder(generation, incarnation);
  if (status.ok()) status = Check(generation);
  if (!status.ok()) return then(status);
  const Ticket ticket = ++last_ticket_;
  done_[ticket] = [then = std::move(then)](auto done) {
    if (!done.ok() || !done->status.ok()) {
      return then(done.ok() ? done->status : done.status());
    }
    then(HandedOver{done->last});
  };
  Effects effects;
  partition_->HandOver(epoch, ticket, now(), &effects);
  Do(std::move(effects));
}

absl::Status ReplicaHost::Drop(uint64_t generation) {
  if (generation <= generation_ || partition_ == nullptr) {
    return absl::OkStatus();
  }
  Make(generation, /*empty=*/true);
  return absl::OkStatus();
}

void ReplicaHost::Push(uint64_t generation, PushMessage message,
                       Then<Answer> then) {
  if (absl::Status status = Check(generation); !status.ok()) {
    return then(status);
  }
  message.ticket = ++last_ticket_;
  answers_[message.ticket] =
      [this, generation, rank = message.rank, clock = message.clock,
       session = message.session, number = message.number,
       then = std::move(then)](absl::StatusOr<Answer> answer) {
        if (answer.ok() && answer->outcome.code == PartCode::kOk) {
          const uint64_t epoch = partition_->epoch();
          if (rank.has_value()) {
            world_.acknowledged(generation, epoch, rank->rank, clock);
          } else {
            world_.session_acknowledged(generation, epoch, session, number);
          }
        }
        then(std::move(answer));
      };
  Effects effects;
  partition_->Push(std::move(message), now(), &effects);
  Do(std::move(effects));
}

void ReplicaHost::Pull(uint64_t generation, PullMessage message,
                       Then<Answer> then) {
  if (absl::Status status = Check(generation); !status.ok()) {
    return then(status);
  }
  message.ticket = ++last_ticket_;
  answers_[message.ticket] = [this, generation, then = std::move(then)](
                                 absl::StatusOr<Answer> answer) {
    if (answer.ok() && answer->outcome.code == PartCode::kOk) {
      world_.answered(generation, answer->values);
    }
    then(std::move(answer));
  };
  Effects effects;
  partition_->Pull(std::move(message), now(), &effects);
  Do(std::move(effects));
}

void ReplicaHost::BeginAttempt(uint64_t generation, RankName rank,
                               Then<Done> then) {
  if (absl::Status status = Check(generation); !status.ok()) {
    return then(status);
  }
  const Ticket ticket = ++last_ticket_;
  done_[ticket] = std::move(then);
  Effects effects;
  partition_->BeginAttempt(rank, ticket, now(), &effects);
  Do(std::move(effects));
}

void ReplicaHost::OnPeerMessage(uint64_t generation, PeerMessage message) {
  if (!Check(generation).ok()) return;
  if (message.to == node_.incarnation) {
    heard_epoch_ = std::max(heard_epoch_, message.epoch);
  }
  Effects effects;
  partition_->OnPeerMessage(std::move(message), now(), &effects);
  Do(std::move(effects));
}

void ReplicaHost::OnLinkBroken(uint64_t peer) {
  if (partition_ == nullptr) return;
  Effects effects;
  partition_->OnLinkBroken(peer, now(), &effects);
  Do(std::move(effects));
}

std::vector<uint64_t> ReplicaHost::Tick() {
  std::vector<uint64_t> silent;
  if (partition_ == nullptr) return silent;
  Effects effects;
  partition_->OnTick(now(), &effects);
  Do(std::move(effects));
  for (const Node& node : partition_->Complaints(now())) {
    silent.push_back(node.incarnation);
  }
  return silent;
}

void ReplicaHost::CheckPosition() {
  const ReplicaState state = partition_->State();
  if (state.epoch < stood_epoch_) {
    world_.report(absl::StrCat(node_.name, " goes back from epoch ",
                               stood_epoch_, " to ", state.epoch));
  }
  // A replica that was dropped, or joins, begins anew in a new epoch.
  if (state.epoch != stood_epoch_) {
    stood_ = LogPosition();
    stood_attempts_.clear();
  }
  stood_epoch_ = state.epoch;
  if (!partition_->holds()) return;
  const PartitionState& held = partition_->state();
  if (state.last < stood_) {
    world_.report(
        absl::StrCat(node_.name, " holds the log up to ", state.last.epoch, ":",
                     state.last.number, ", and held it up to ", stood_.epoch,
                     ":", stood_.number, " before, in epoch ", state.epoch));
  }
  stood_ = state.last;
  stood_attempts_.resize(held.ranks());
  for (uint32_t rank = 0; rank < held.ranks(); ++rank) {
    const uint32_t attempt = held.rank(rank).attempt;
    if (attempt < stood_attempts_[rank]) {
      world_.report(absl::StrCat(node_.name, " forgets attempt ",
                                 stood_attempts_[rank], " of rank ", rank));
    }
    stood_attempts_[rank] = attempt;
  }
}

void ReplicaHost::Do(Effects effects) {
  CheckPosition();
  ExpireAnswers(now(), absl::MakeSpan(effects.answers));
  for (PeerMessage& message : effects.messages) Send(std::move(message));
  for (Answer& answer : effects.answers) {
    auto node = answers_.extract(answer.ticket);
    if (!node.empty()) node.mapped()(std::move(answer));
  }
  for (Done& done : effects.done) {
    auto node = done_.extract(done.ticket);
    if (!node.empty()) node.mapped()(std::move(done));
  }
}

void ReplicaHost::Send(PeerMessage message) {
  const auto it = world_.machine_of.find(message.to);
  if (it == world_.machine_of.end()) return;
  const int to = it->second;
  const uint64_t peer = message.to;
  world_.loop->Tell(machine_, [&] {
    static constexpr const char* kNames[] = {
        "ask", "tell", "ping", "confirm", "snapshot", "taken", "forward"};
    std::string text =
        absl::StrCat("  ", kNames[message.body.index()], " (epoch ",
                     message.epoch, ") to ", world_.loop->name(to));
    if (const auto* forward = std::get_if<ForwardRecord>(&message.body)) {
      absl::StrAppend(&text, " ", forward->position.epoch, ":",
                      forward->position.number, " commit ", forward->commit);
    } else if (const auto* confirm =
                   std::get_if<ConfirmRecords>(&message.body)) {
      absl::StrAppend(&text, " ", confirm->last.epoch, ":",
                      confirm->last.number);
    } else if (const auto* tell = std::get_if<TellPosition>(&message.body)) {
      absl::StrAppend(&text, " ", tell->last.epoch, ":", tell->last.number,
                      tell->holds ? "" : " nothing");
    } else if (const auto* piece = std::get_if<SnapshotPiece>(&message.body)) {
      absl::StrAppend(&text, " piece ", piece->piece, " of ", piece->pieces,
                      " at ", piece->position.epoch, ":",
                      piece->position.number);
    }
    return text;
  });
  if (std::holds_alternative<ConfirmRecords>(message.body) &&
      message.epoch < heard_epoch_) {
    world_.report(absl::StrCat(node_.name, " confirms in epoch ", message.epoch,
                               ", and has heard of epoch ", heard_epoch_));
  }
  const bool forwards = std::holds_alternative<ForwardRecord>(message.body);
  const SimNetwork::Counts before = world_.network->counts();
  world_.network->Send(
      machine_, to, "peer",
      [this_world = &world_, to, generation = generation_,
       message = std::move(message)] {
        this_world->deliver(to, generation, message);
      },
      world_.streams);
  const SimNetwork::Counts& after = world_.network->counts();
  if (world_.streams && (after.lost > before.lost || after.cut > before.cut)) {
    // Noticed somewhat later.
    world_.loop->After(
        world_.loop->Between(absl::Milliseconds(1), absl::Milliseconds(50)),
        machine_, "link broken", [this, peer] { OnLinkBroken(peer); });
  }
  if (forwards && world_.dies != nullptr) world_.dies(machine_);
}

}  // namespace seraph::testing
