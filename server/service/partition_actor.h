// A partition that many threads may talk to.
#ifndef SERAPH_SERVER_SERVICE_PARTITION_ACTOR_H_
#define SERAPH_SERVER_SERVICE_PARTITION_ACTOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "common/concurrent/executor.h"
#include "common/concurrent/serial_queue.h"
#include "server/core/partition.h"

namespace seraph {

// The memory that all partitions of a server hold together, and its limit.
// Threads: any.
struct MemoryBudget {
  explicit MemoryBudget(uint64_t limit) : limit_bytes(limit) {}

  const uint64_t limit_bytes;
  std::atomic<int64_t> used_bytes = 0;
};

// Runs a Partition's messages one at a time, in the order they were posted, on
// the server's executor, and hands each answer to whoever asked.
//
// Threads: every method may be called from any thread but those that run this
// actor. Callbacks run on the executor, with no lock held.
class PartitionActor {
 public:
  using Done = absl::AnyInvocable<void(Answer)>;

  // `executor` and `budget` must outlive this.
  PartitionActor(std::unique_ptr<Partition> partition, Executor* executor,
                 MemoryBudget* budget);

  // Answers what still waits with kNotHere, and waits for what runs.
  ~PartitionActor();

  // The message's ticket is set here. `done` is called exactly once.
  void Push(PushMessage message, Done done);
  void Pull(PullMessage message, Done done);
  void BeginAttempt(
      RankName rank,
      absl::AnyInvocable<void(absl::Status, const RankProgress&)> done);

  void Load(std::vector<Key> keys, std::vector<float> values,
            absl::AnyInvocable<void(absl::Status)> done);

  // Runs `work` with the partition to itself.
  void Run(absl::AnyInvocable<void(Partition&)> work);

  // Constant over the partition's life.
  const PartitionOptions& options() const { return options_; }
  const KeyRange& range() const { return range_; }
  uint64_t epoch() const { return epoch_; }

  // As of the last message.
  struct Gauges {
    std::atomic<uint64_t> rows = 0;
    std::atomic<uint64_t> bytes = 0;
    std::atomic<uint64_t> position = 0;
    std::atomic<uint32_t> parked = 0;
  };
  const Gauges& gauges() const { return gauges_; }

 private:
  // Of the queue's turn: everything below them.
  void Deliver(Effects effects);
  void Account();

  const PartitionOptions options_;
  const KeyRange range_;
  const uint64_t epoch_;
  MemoryBudget* const budget_;
  Gauges gauges_;

  // Touched by the queue's closures alone.
  std::unique_ptr<Partition> partition_;
  absl::flat_hash_map<Ticket, Done> waiting_;
  absl::flat_hash_map<Ticket, absl::AnyInvocable<void(seraph::Done)>> orders_;
  Ticket last_ticket_ = 0;

  SerialQueue queue_;  // Last: it drains before the rest goes.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_PARTITION_ACTOR_H_
