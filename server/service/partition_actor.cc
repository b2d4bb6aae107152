#include "server/service/partition_actor.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "common/testing/fail_point.h"
#include "server/service/peer_codec.h"

namespace seraph {
namespace {

// Ticks in a lease.
constexpr int kTicksPerLease = 10;

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

uint64_t Pack(Clock clock) { return uint64_t{clock.epoch} << 32 | clock.step; }

Answer NotHere(Ticket ticket) {
  Answer answer;
  answer.ticket = ticket;
  answer.outcome = {.code = PartCode::kNotHere,
                    .message = "the replica was dropped"};
  return answer;
}

}  // namespace

std::shared_ptr<PartitionActor> PartitionActor::Make(
    JobName job, KeyRange range, std::unique_ptr<Partition> partition,
    absl::Duration lease, const ReplicaSurroundings& around) {
  auto* actor = new PartitionActor(std::move(job), range, std::move(partition),
                                   lease, around);
  return std::shared_ptr<PartitionActor>(actor, [](PartitionActor* gone) {
    // Nobody can post any more, so this is the last that runs; whoever frees
    // the actor then waits for no more than the end of it.
    gone->queue_.Post([gone] {
      gone->Shut();
      gone->around_.executor->Schedule([gone] { delete gone; });
    });
  });
}

PartitionActor::PartitionActor(JobName job, KeyRange range,
                               std::unique_ptr<Partition> partition,
                               absl::Duration lease,
                               const ReplicaSurroundings& around)
    : job_(std::move(job)),
      options_(partition->options()),
      range_(range),
      number_(NextNumber()),
      around_(around),
      tick_nanos_(absl::ToInt64Nanoseconds(lease / kTicksPerLease)),
      partition_(std::move(partition)),
      queue_(around.executor) {
  Account();
}

PartitionActor::~PartitionActor() = default;

// Runs `work` in the partition's turn, unless it was closed.
template <typename Work>
void PartitionActor::PostWork(Work work) {
  queue_.Post([this, work = std::move(work)]() mutable {
    if (partition_ == nullptr) return;
    Effects effects;
    work(around_.clock->Now(), &effects);
    Finish(std::move(effects));
  });
}

// As above, for requests that end with a Done.
template <typename Work>
void PartitionActor::PostOrder(Work work, DoneTo done) {
  queue_.Post([this, work = std::move(work), done = std::move(done)]() mutable {
    if (partition_ == nullptr) {
      Done closed;
      closed.status = absl::UnavailableError("the replica was dropped");
      return done(std::move(closed));
    }
    const Ticket ticket = ++last_ticket_;
    done_.emplace(ticket, std::move(done));
    Effects effects;
    work(ticket, around_.clock->Now(), &effects);
    Finish(std::move(effects));
  });
}

Answer PartitionActor::AnswerWithoutWork(const std::optional<RankName>& rank,
                                         size_t rows) const {
  Answer answer;
  if (rank.has_value() && rank->attempt < last_attempt_) {
    answer.outcome = {.code = PartCode::kStaleAttempt,
                      .message = "a later attempt has begun"};
  } else {
    answer.values.assign(rows * options_.table.width, 0.0f);
  }
  return answer;
}

template <typename Message, typename Take>
void PartitionActor::Post(Message message, Take take, AnswerTo answer) {
  queue_.Post([this, take, message = std::move(message),
               answer = std::move(answer)]() mutable {
    if (partition_ == nullptr) return answer(NotHere(0));
    message.ticket = ++last_ticket_;
    answers_.emplace(message.ticket, std::move(answer));
    Effects effects;
    (partition_.get()->*take)(std::move(message), around_.clock->Now(),
                              &effects);
    Finish(std::move(effects));
  });
}

template <typename Message, typename Take>
std::optional<Answer> PartitionActor::TakeHere(Message* message, Take take,
                                               MakeAnswerTo later) {
  std::optional<Answer> own;
  const bool ran = queue_.TryRun([&] {
    if (partition_ == nullptr || !partition_->IsFree()) return false;
    const Ticket ticket = ++last_ticket_;
    message->ticket = ticket;
    Effects effects;
    (partition_.get()->*take)(std::move(*message), around_.clock->Now(),
                              &effects);
    Finish(std::move(effects), ticket, &own);
    if (!own.has_value()) answers_.emplace(ticket, later());
    return true;
  });
  if (!ran) Post(std::move(*message), take, later());
  return own;
}

void PartitionActor::Push(PushMessage message, AnswerTo answer) {
  if (around_.noop) return answer(AnswerWithoutWork(message.rank, 0));
  Post(std::move(message), &Partition::Push, std::move(answer));
}

void PartitionActor::Pull(PullMessage message, AnswerTo answer) {
  if (around_.noop) {
    return answer(AnswerWithoutWork(message.rank, message.Keys().size()));
  }
  Post(std::move(message), &Partition::Pull, std::move(answer));
}

std::optional<Answer> PartitionActor::PushHere(PushMessage&& message,
                                               MakeAnswerTo later) {
  if (around_.noop) return AnswerWithoutWork(message.rank, 0);
  return TakeHere(&message, &Partition::Push, later);
}

std::optional<Answer> PartitionActor::PullHere(PullMessage&& message,
                                               MakeAnswerTo later) {
  if (around_.noop) {
    return AnswerWithoutWork(message.rank, message.Keys().size());
  }
  return TakeHere(&message, &Partition::Pull, later);
}

void PartitionActor::BeginAttempt(RankName rank, DoneTo done) {
  uint32_t last = last_attempt_;
  while (last < rank.attempt &&
         !last_attempt_.compare_exchange_weak(last, rank.attempt)) {
  }
  PostOrder(
      [this, rank](Ticket ticket, absl::Duration now, Effects* effects) {
        partition_->BeginAttempt(rank, ticket, now, effects);
      },
      std::move(done));
}

void PartitionActor::Load(std::vector<Key> keys, std::vector<float> values,
                          DoneTo done) {
  PostOrder(
      [this, keys = std::move(keys), values = std::move(values)](
          Ticket ticket, absl::Duration now, Effects* effects) mutable {
        partition_->Load(std::move(keys), std::move(values), ticket, now,
                         effects);
      },
      std::move(done));
}

void PartitionActor::Configure(ReplicaOrder order,
                               absl::AnyInvocable<void(ReplicaState)> done) {
  queue_.Post(
      [this, order = std::move(order), done = std::move(done)]() mutable {
        if (partition_ == nullptr) {
          return done({.table = order.table,
                       .partition = order.partition,
                       .epoch = std::max(order.epoch, gauges_.epoch.load())});
        }
        if (order.epoch > partition_->epoch()) {
          peers_.clear();
          if (!order.primary.name.empty()) KnowPeer(order.primary);
          for (const Node& member : order.members) KnowPeer(member);
        }
        Effects effects;
        ReplicaState state =
            partition_->Configure(order, around_.clock->Now(), &effects);
        Finish(std::move(effects));
        done(std::move(state));
      });
}

void PartitionActor::Recruit(uint64_t epoch, Node recruit, DoneTo done) {
  PostOrder(
      [this, epoch, recruit = std::move(recruit)](
          Ticket ticket, absl::Duration now, Effects* effects) {
        timed_ = true;
        KnowPeer(recruit);
        partition_->Recruit(epoch, recruit, ticket, now, effects);
      },
      std::move(done));
}

void PartitionActor::HandOver(uint64_t epoch, DoneTo done) {
  PostOrder(
      [this, epoch](Ticket ticket, absl::Duration now, Effects* effects) {
        timed_ = true;
        partition_->HandOver(epoch, ticket, now, effects);
      },
      std::move(done));
}

void PartitionActor::BeginCut(
    uint64_t cut, bool at_rest,
    absl::AnyInvocable<void(absl::StatusOr<std::vector<Clock>>)> done) {
  queue_.Post([this, cut, at_rest, done = std::move(done)]() mutable {
    if (partition_ == nullptr) {
      return done(absl::AbortedError("the replica was dropped"));
    }
    timed_ = true;
    Effects effects;
    auto clocks =
        partition_->BeginCut(cut, at_rest, around_.clock->Now(), &effects);
    Finish(std::move(effects));
    done(std::move(clocks));
  });
}

void PartitionActor::TakeCut(uint64_t cut, std::vector<Clock> clocks,
                             bool at_rest, Partition::Since since,
                             DoneTo done) {
  PostOrder(
      [this, cut, clocks = std::move(clocks), at_rest, since](
          Ticket ticket, absl::Duration now, Effects* effects) mutable {
        timed_ = true;
        partition_->TakeCut(cut, std::move(clocks), at_rest, since, ticket, now,
                            effects);
      },
      std::move(done));
}

void PartitionActor::DropCut(uint64_t cut) {
  PostWork([this, cut](absl::Duration now, Effects* effects) {
    partition_->DropCut(cut, now, effects);
  });
}

void PartitionActor::Deliver(WithBulk<v1::ReplicaMessage> message,
                             absl::AnyInvocable<void()> taken) {
  queue_.Post(
      [this, message = std::move(message), taken = std::move(taken)]() mutable {
        if (partition_ != nullptr) {
          absl::StatusOr<PeerMessage> decoded = DecodePeer(std::move(message));
          if (decoded.ok()) {
            Effects effects;
            partition_->OnPeerMessage(*std::move(decoded), around_.clock->Now(),
                                      &effects);
            Finish(std::move(effects));
          }
        }
        taken();
      });
}

void PartitionActor::OnLinkBroken(uint64_t peer) {
  PostWork([this, peer](absl::Duration now, Effects* effects) {
    partition_->OnLinkBroken(peer, now, effects);
  });
}

void PartitionActor::Tick() {
  if (at_rest_ || around_.clock->NowNanos() < next_tick_) return;
  if (tick_posted_.exchange(true)) return;
  PostWork([this](absl::Duration now, Effects* effects) {
    partition_->OnTick(now, effects);
    std::vector<uint64_t> complaints;
    for (const Node& node : partition_->Complaints(now)) {
      complaints.push_back(node.incarnation);
    }
    {
      MutexLock lock(&mu_);
      complaints_ = std::move(complaints);
    }
    next_tick_ = around_.clock->NowNanos() + tick_nanos_;
    tick_posted_ = false;
  });
}

std::vector<uint64_t> PartitionActor::complaints() const {
  if (at_rest_) return {};  // It has not looked for long.
  MutexLock lock(&mu_);
  return complaints_;
}

void PartitionActor::Run(absl::AnyInvocable<void(Partition*)> work) {
  queue_.Post([this, work = std::move(work)]() mutable {
    work(partition_.get());
    if (partition_ != nullptr) Account();
  });
}

void PartitionActor::Close(absl::AnyInvocable<void()> done) {
  queue_.Post([this, done = std::move(done)]() mutable {
    Shut();
    done();
  });
}

void PartitionActor::Shut() {
  if (partition_ == nullptr) return;
  Effects effects;
  partition_->Close(&effects);
  Finish(std::move(effects));
  // What the partition has not answered, if anything.
  for (auto& [ticket, answer] : answers_) answer(NotHere(ticket));
  answers_.clear();
  for (auto& [ticket, done] : done_) {
    Done closed;
    closed.status = absl::UnavailableError("the replica was dropped");
    done(std::move(closed));
  }
  done_.clear();
  partition_ = nullptr;
  around_.budget->used_bytes -= static_cast<int64_t>(gauges_.bytes.load());
  gauges_.bytes = 0;
  gauges_.duty = ReplicaDuty::kDrop;
  at_rest_ = true;
}

void PartitionActor::KnowPeer(const Node& node) {
  peers_[node.incarnation] = node;
}

// A server whose partitions outgrow its memory stops those that grow.
void PartitionActor::CheckMemory(Effects* effects) {
  const int64_t used = around_.budget->used_bytes;
  if (used <= static_cast<int64_t>(around_.budget->limit_bytes) ||
      !partition_->leads() || !partition_->failure().empty()) {
    return;
  }
  partition_->Fail(
      absl::StrCat("table '", options_.table.name, "', partition ",
                   options_.partition, ": the server's partitions take ", used,
                   " bytes, more than server.memory_limit (",
                   around_.budget->limit_bytes,
                   "); raise it, or use more servers"),
      around_.clock->Now(), effects);
}

void PartitionActor::Finish(Effects effects, Ticket own,
                            std::optional<Answer>* own_answer) {
  Account();
  CheckMemory(&effects);
  if (!effects.messages.empty()) FailPoint("server.forwarding");
  for (PeerMessage& message : effects.messages) {
    const auto peer = peers_.find(message.to);
    if (peer == peers_.end()) continue;
    around_.peers->Send(peer->second, job_, std::move(message));
  }
  if (!effects.messages.empty()) FailPoint("server.forwarded");
  if (!effects.answers.empty()) {
    FailPoint("server.answering");
    if (std::any_of(effects.answers.begin(), effects.answers.end(),
                    [](const Answer& answer) {
                      return answer.valid_until < absl::InfiniteDuration();
                    })) {
      ExpireAnswers(around_.clock->Now(), absl::MakeSpan(effects.answers));
    }
  }
  for (Answer& answer : effects.answers) {
    if (own_answer != nullptr && answer.ticket == own) {
      *own_answer = std::move(answer);
      continue;
    }
    auto node = answers_.extract(answer.ticket);
    if (!node.empty()) node.mapped()(std::move(answer));
  }
  for (Done& done : effects.done) {
    auto node = done_.extract(done.ticket);
    if (!node.empty()) node.mapped()(std::move(done));
  }
}

void PartitionActor::Account() {
  // Each is true by itself; nobody concludes from one to another.
  const auto set = [](auto* gauge, auto value) {
    gauge->store(value, std::memory_order_release);
  };
  const uint64_t bytes = partition_->bytes();
  const uint64_t before = gauges_.bytes;
  if (bytes != before) {
    around_.budget->used_bytes += static_cast<int64_t>(bytes - before);
    set(&gauges_.bytes, bytes);
  }
  set(&gauges_.epoch, partition_->epoch());
  set(&gauges_.duty, partition_->duty());
  set(&gauges_.parked, static_cast<uint32_t>(partition_->parked()));
  set(&at_rest_, partition_->leads() && partition_->awaited() == 0 &&
                     partition_->pending() == 0 && !timed_);
  if (!partition_->holds()) {
    set(&gauges_.rows, uint64_t{0});
    set(&gauges_.position, uint64_t{0});
    set(&gauges_.unconfirmed, uint64_t{0});
    return;
  }
  const PartitionState& state = partition_->state();
  set(&gauges_.rows, uint64_t{state.store().rows()});
  set(&gauges_.position, state.records());
  set(&gauges_.unconfirmed, partition_->leads() && partition_->awaited() > 0
                                ? state.records() - partition_->commit()
                                : uint64_t{0});
  set(&gauges_.slowest, Pack(state.slowest()));
}

}  // namespace seraph
