#include "server/service/partition_actor.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace seraph {

namespace {

absl::Duration Now() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

PartitionActor::PartitionActor(std::unique_ptr<Partition> partition,
                               Executor* executor, MemoryBudget* budget)
    : options_(partition->state().options()),
      range_(partition->state().store().range()),
      epoch_(partition->epoch()),
      budget_(budget),
      partition_(std::move(partition)),
      queue_(executor) {
  Account();
}

PartitionActor::~PartitionActor() {
  queue_.Post([this] {
    Effects effects;
    partition_->Close(&effects);
    Deliver(std::move(effects));
  });
  queue_.Drain();
  budget_->used_bytes -= gauges_.bytes;
}

void PartitionActor::Push(PushMessage message, Done done) {
  queue_.Post([this, message = std::move(message),
               done = std::move(done)]() mutable {
    message.ticket = ++last_ticket_;
    waiting_.emplace(message.ticket, std::move(done));
    Effects effects;
    partition_->Push(std::move(message), Now(), &effects);
    Account();
    if (budget_->used_bytes > static_cast<int64_t>(budget_->limit_bytes) &&
        partition_->failure().empty()) {
      partition_->Fail(
          absl::StrCat("table '", options_.table.name, "', partition ",
                       options_.partition, ": the server's partitions take ",
                       budget_->used_bytes.load(),
                       " bytes, more than "
                       "server.memory_limit (",
                       budget_->limit_bytes,
                       "); raise it, or use more servers"),
          Now(), &effects);
    }
    Deliver(std::move(effects));
  });
}

void PartitionActor::Pull(PullMessage message, Done done) {
  queue_.Post(
      [this, message = std::move(message), done = std::move(done)]() mutable {
        message.ticket = ++last_ticket_;
        waiting_.emplace(message.ticket, std::move(done));
        Effects effects;
        partition_->Pull(std::move(message), Now(), &effects);
        gauges_.parked = partition_->parked();
        Deliver(std::move(effects));
      });
}

void PartitionActor::BeginAttempt(
    RankName rank,
    absl::AnyInvocable<void(absl::Status, const RankProgress&)> done) {
  queue_.Post([this, rank, done = std::move(done)]() mutable {
    const Ticket ticket = ++last_ticket_;
    orders_.emplace(ticket,
                    [done = std::move(done)](seraph::Done order) mutable {
                      done(std::move(order.status), order.progress);
                    });
    Effects effects;
    partition_->BeginAttempt(rank, ticket, Now(), &effects);
    Account();
    Deliver(std::move(effects));
  });
}

void PartitionActor::Load(std::vector<Key> keys, std::vector<float> values,
                          absl::AnyInvocable<void(absl::Status)> done) {
  queue_.Post([this, keys = std::move(keys), values = std::move(values),
               done = std::move(done)]() mutable {
    const Ticket ticket = ++last_ticket_;
    orders_.emplace(ticket,
                    [done = std::move(done)](seraph::Done order) mutable {
                      done(std::move(order.status));
                    });
    Effects effects;
    partition_->Load(std::move(keys), std::move(values), ticket, Now(),
                     &effects);
    Account();
    Deliver(std::move(effects));
  });
}

void PartitionActor::Run(absl::AnyInvocable<void(Partition&)> work) {
  queue_.Post([this, work = std::move(work)]() mutable {
    work(*partition_);
    Account();
  });
}

void PartitionActor::Deliver(Effects effects) {
  ExpireAnswers(Now(), &effects.answers);
  for (Answer& answer : effects.answers) {
    auto node = waiting_.extract(answer.ticket);
    node.mapped()(std::move(answer));
  }
  for (auto& order : effects.done) {
    auto node = orders_.extract(order.ticket);
    node.mapped()(std::move(order));
  }
}

void PartitionActor::Account() {
  const uint64_t bytes = partition_->bytes();
  budget_->used_bytes += static_cast<int64_t>(bytes - gauges_.bytes);
  gauges_.bytes = bytes;
  gauges_.rows = partition_->state().store().rows();
  gauges_.position = partition_->state().records();
  gauges_.parked = partition_->parked();
}

}  // namespace seraph
