#include "server/service/partition_actor.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace seraph {

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
    std::vector<Answer> answers;
    partition_->Close(&answers);
    Deliver(std::move(answers));
  });
  queue_.Drain();
  budget_->used_bytes -= gauges_.bytes;
}

void PartitionActor::Push(PushMessage message, Done done) {
  queue_.Post([this, message = std::move(message),
               done = std::move(done)]() mutable {
    message.ticket = ++last_ticket_;
    waiting_.emplace(message.ticket, std::move(done));
    std::vector<Answer> answers;
    partition_->Push(std::move(message), &answers);
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
          &answers);
    }
    Deliver(std::move(answers));
  });
}

void PartitionActor::Pull(PullMessage message, Done done) {
  queue_.Post(
      [this, message = std::move(message), done = std::move(done)]() mutable {
        message.ticket = ++last_ticket_;
        waiting_.emplace(message.ticket, std::move(done));
        std::vector<Answer> answers;
        partition_->Pull(std::move(message), &answers);
        gauges_.parked = partition_->parked();
        Deliver(std::move(answers));
      });
}

void PartitionActor::BeginAttempt(
    RankName rank,
    absl::AnyInvocable<void(absl::Status, const RankProgress&)> done) {
  queue_.Post([this, rank, done = std::move(done)]() mutable {
    std::vector<Answer> answers;
    const absl::Status status = partition_->BeginAttempt(rank, &answers);
    Account();
    Deliver(std::move(answers));
    done(status,
         status.ok() ? partition_->state().rank(rank.rank) : RankProgress{});
  });
}

void PartitionActor::Run(absl::AnyInvocable<void(Partition&)> work) {
  queue_.Post([this, work = std::move(work)]() mutable {
    work(*partition_);
    Account();
  });
}

void PartitionActor::Deliver(std::vector<Answer> answers) {
  for (Answer& answer : answers) {
    auto node = waiting_.extract(answer.ticket);
    node.mapped()(std::move(answer));
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
