// A partition in a test: short calls instead of messages.
#ifndef SERAPH_SERVER_CORE_PARTITION_HARNESS_H_
#define SERAPH_SERVER_CORE_PARTITION_HARNESS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/key.h"
#include "server/core/partition.h"
#include "server/store/make_row_store.h"

namespace seraph::testing {

inline TableSpec SumTable(TableKind kind = TableKind::kSparse) {
  TableSpec table;
  table.name = "t";
  table.kind = kind;
  table.keys = kind == TableKind::kDense ? 100 : 0;
  table.optimizer.kind = OptimizerKind::kSum;
  // `sum` has no learning rate of its own: w += g.
  table.optimizer.learning_rate = 1.0;
  return table;
}

inline PartitionOptions OptionsFor(SyncMode mode, uint32_t ranks,
                                   TableSpec table = SumTable()) {
  PartitionOptions options;
  options.table = std::move(table);
  options.ranks = ranks;
  options.sync.spec.mode = mode;
  options.sync.spec.combine = Combine::kSum;
  options.is_ledger = true;
  return options;
}

inline std::unique_ptr<Partition> MakePartition(
    const PartitionOptions& options, const ReplicaSetup& replica = {},
    KeyRange range = {0, kMaxKey}, bool holds = true) {
  auto make_store = [table = options.table, range] {
    return MakeRowStore(table, range);
  };
  auto state = holds ? std::make_unique<PartitionState>(options, *make_store())
                     : nullptr;
  return std::make_unique<Partition>(options, replica, make_store,
                                     std::move(state));
}

// The only replica, in epoch 7; attempt 1 of every rank has begun.
class Harness {
 public:
  explicit Harness(PartitionOptions options, KeyRange range = {0, kMaxKey})
      : partition_(MakePartition(options, {}, range)) {
    Do([](Partition& p, Effects* effects) {
      p.Configure({.epoch = 7, .duty = ReplicaDuty::kLead},
                  absl::ZeroDuration(), effects);
    });
    for (uint32_t rank = 0; rank < options.ranks; ++rank) {
      Begin(rank, 1).IgnoreError();  // No other attempt can be there.
    }
  }

  absl::Status Begin(uint32_t rank, uint32_t attempt) {
    const Ticket ticket = ++last_;
    Do([&](Partition& p, Effects* effects) {
      p.BeginAttempt({rank, attempt}, ticket, now_, effects);
    });
    return done_.at(ticket).status;
  }

  // The ticket; its answer is in Of(ticket) when there is one.
  Ticket Push(PushMessage message) {
    message.ticket = ++last_;
    if (message.epoch == 0) message.epoch = 7;
    Do([&](Partition& p, Effects* effects) {
      p.Push(std::move(message), now_, effects);
    });
    return last_;
  }

  Ticket Push(uint32_t rank, Clock clock, std::vector<Key> keys,
              std::vector<float> values, uint32_t attempt = 1) {
    PushMessage message;
    message.rank = RankName{rank, attempt};
    message.clock = clock;
    message.examples = 1;
    message.keys = std::move(keys);
    message.values = std::move(values);
    return Push(std::move(message));
  }

  Ticket EndEpoch(uint32_t rank, Clock clock, uint32_t attempt = 1) {
    PushMessage message;
    message.rank = RankName{rank, attempt};
    message.clock = clock;
    message.ends_epoch = true;
    return Push(std::move(message));
  }

  Ticket Pull(PullMessage message) {
    message.ticket = ++last_;
    if (message.epoch == 0) message.epoch = 7;
    Do([&](Partition& p, Effects* effects) {
      p.Pull(std::move(message), now_, effects);
    });
    return last_;
  }

  Ticket Pull(uint32_t rank, Clock clock, std::vector<Key> keys,
              uint32_t attempt = 1) {
    PullMessage message;
    message.rank = RankName{rank, attempt};
    message.clock = clock;
    message.keys = std::move(keys);
    return Pull(std::move(message));
  }

  // The last applied state.
  std::vector<float> Now(std::vector<Key> keys) {
    PullMessage message;
    message.keys = std::move(keys);
    return Values(Pull(std::move(message)));
  }

  bool Waits(Ticket ticket) const { return !answers_.contains(ticket); }
  PartCode Code(Ticket ticket) const {
    return answers_.at(ticket).outcome.code;
  }
  const Answer& Of(Ticket ticket) const { return answers_.at(ticket); }
  std::vector<float> Values(Ticket ticket) const {
    const FloatBuffer& values = answers_.at(ticket).values;
    return {values.begin(), values.end()};
  }

  Partition& partition() { return *partition_; }

  template <typename Work>
  void Do(Work work) {
    Effects effects;
    work(*partition_, &effects);
    for (Answer& answer : effects.answers) {
      const Ticket ticket = answer.ticket;
      // A second answer to one message would be a bug of its own.
      if (!answers_.emplace(ticket, std::move(answer)).second) std::abort();
    }
    for (Done& done : effects.done) {
      const Ticket ticket = done.ticket;
      if (!done_.emplace(ticket, std::move(done)).second) std::abort();
    }
  }

 private:
  std::unique_ptr<Partition> partition_;
  absl::Duration now_;
  Ticket last_ = 0;
  std::map<Ticket, Answer> answers_;
  std::map<Ticket, Done> done_;
};

}  // namespace seraph::testing

#endif  // SERAPH_SERVER_CORE_PARTITION_HARNESS_H_
