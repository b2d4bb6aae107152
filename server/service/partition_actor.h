// A replica of a partition that many threads may talk to.
#ifndef SERAPH_SERVER_SERVICE_PARTITION_ACTOR_H_
#define SERAPH_SERVER_SERVICE_PARTITION_ACTOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/cluster/node.h"
#include "common/concurrent/executor.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/serial_queue.h"
#include "common/time/clock.h"
#include "common/wire/bulk_split.h"
#include "proto/replicas.pb.h"
#include "server/core/partition.h"
#include "server/service/job_name.h"
#include "server/service/peer_sender.h"

namespace seraph {

// The memory that all partitions of a server hold together, and its limit.
// Threads: any.
struct MemoryBudget {
  explicit MemoryBudget(uint64_t limit) : limit_bytes(limit) {}

  const uint64_t limit_bytes;
  std::atomic<int64_t> used_bytes = 0;
};

// What the replicas of a server share. All but the budget must outlive them,
// and the executor's threads.
struct ReplicaSurroundings {
  Executor* executor = nullptr;
  const MonotonicClock* clock = nullptr;
  PeerSender* peers = nullptr;
  std::shared_ptr<MemoryBudget> budget;
  // Pushes and pulls are answered at once, by whoever brings them, and nothing
  // is done: what a measured request costs without the partition's work.
  bool noop = false;
};

// Runs a Partition's messages one at a time, in the order they were posted, on
// the server's executor; hands each answer to whoever asked, and messages for
// other replicas to the sender.
//
// Threads: every method may be called from any thread. Callbacks are called
// exactly once, with no lock held, on the executor, or in PushHere and PullHere
// of another message.
class PartitionActor {
 public:
  using AnswerTo = absl::AnyInvocable<void(Answer)>;
  using MakeAnswerTo = absl::FunctionRef<AnswerTo()>;
  using DoneTo = absl::AnyInvocable<void(Done)>;

  // Made as a shared pointer whose last owner, on whatever thread, lets it go
  // without waiting for what runs: the executor frees it.
  static std::shared_ptr<PartitionActor> Make(
      JobName job, KeyRange range, std::unique_ptr<Partition> partition,
      absl::Duration lease, const ReplicaSurroundings& around);

  ~PartitionActor();

  // Clients ----------------------------------------------------------------

  // The message's ticket is set here.
  void Push(PushMessage message, AnswerTo answer);
  void Pull(PullMessage message, AnswerTo answer);
  // The same for messages that cost less than it does to wake a thread. They
  // run inside of this call if it is the partition's turn for them, and there
  // nothing waits that they could set going (Partition::IsFree). The answer, if
  // it is there at once; else what `later` makes gets it.
  std::optional<Answer> PushHere(PushMessage&& message, MakeAnswerTo later);
  std::optional<Answer> PullHere(PullMessage&& message, MakeAnswerTo later);
  void BeginAttempt(RankName rank, DoneTo done);
  void Load(std::vector<Key> keys, std::vector<float> values, DoneTo done);

  // Orders -----------------------------------------------------------------

  void Configure(ReplicaOrder order,
                 absl::AnyInvocable<void(ReplicaState)> done);
  void Recruit(uint64_t epoch, Node recruit, DoneTo done);
  void HandOver(uint64_t epoch, DoneTo done);
  void BeginCut(
      uint64_t cut, bool at_rest,
      absl::AnyInvocable<void(absl::StatusOr<std::vector<Clock>>)> done);
  void TakeCut(uint64_t cut, std::vector<Clock> clocks, bool at_rest,
               Partition::Since since, DoneTo done);
  void DropCut(uint64_t cut);

  // Others -----------------------------------------------------------------

  // A message of another replica, which is decoded in the partition's turn;
  // `taken` when that was done.
  void Deliver(WithBulk<v1::ReplicaMessage> message,
               absl::AnyInvocable<void()> taken);
  void OnLinkBroken(uint64_t peer);
  // Does nothing before it is time; cheap.
  void Tick();

  // Runs `work` with the partition to itself; with null once it was closed.
  void Run(absl::AnyInvocable<void(Partition*)> work);

  // Answers what waits, and whatever comes later, with kNotHere, and frees the
  // partition; `done` then.
  void Close(absl::AnyInvocable<void()> done);

  // Constant over the replica's life.
  const JobName& job() const { return job_; }
  const PartitionOptions& options() const { return options_; }
  const KeyRange& range() const { return range_; }
  // That no other one of this process has.
  uint64_t number() const { return number_; }

  // As of the last message.
  struct Gauges {
    std::atomic<uint64_t> rows = 0;
    std::atomic<uint64_t> bytes = 0;
    std::atomic<uint64_t> position = 0;
    std::atomic<uint64_t> unconfirmed = 0;
    std::atomic<uint64_t> epoch = 0;
    std::atomic<uint32_t> parked = 0;
    std::atomic<ReplicaDuty> duty = ReplicaDuty::kCollect;
    // Epoch and step of the least expected clock of all ranks.
    std::atomic<uint64_t> slowest = 0;
  };
  const Gauges& gauges() const { return gauges_; }
  bool leads() const { return gauges_.duty == ReplicaDuty::kLead; }
  Clock slowest() const {
    const uint64_t packed = gauges_.slowest;
    return {static_cast<uint32_t>(packed >> 32), static_cast<uint32_t>(packed)};
  }

  // Incarnations that the replica complained of at its last tick.
  std::vector<uint64_t> complaints() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  PartitionActor(JobName job, KeyRange range,
                 std::unique_ptr<Partition> partition, absl::Duration lease,
                 const ReplicaSurroundings& around);

  // Of the queue's turn: everything below them.
  template <typename Work>
  void PostWork(Work work);
  template <typename Work>
  void PostOrder(Work work, DoneTo done);
  // `take`: Partition::Push or Pull.
  template <typename Message, typename Take>
  void Post(Message message, Take take, AnswerTo answer);
  template <typename Message, typename Take>
  std::optional<Answer> TakeHere(Message* message, Take take,
                                 MakeAnswerTo later);
  void Shut();
  void KnowPeer(const Node& node);
  // The answer to `own` goes to `own_answer`, unless that is null.
  void Finish(Effects effects, Ticket own = 0,
              std::optional<Answer>* own_answer = nullptr);
  void CheckMemory(Effects* effects);
  // With `noop`: the answer to a request for `rows` rows.
  Answer AnswerWithoutWork(const std::optional<RankName>& rank,
                           size_t rows) const;
  void Account();

  const JobName job_;
  const PartitionOptions options_;
  const KeyRange range_;
  const uint64_t number_;
  const ReplicaSurroundings around_;
  const int64_t tick_nanos_;
  Gauges gauges_;
  // Whether it has nothing that a tick would move.
  std::atomic<bool> at_rest_ = true;
  std::atomic<bool> tick_posted_ = false;
  std::atomic<int64_t> next_tick_ = 0;
  // The highest that was begun: also without work older ones are to end.
  std::atomic<uint32_t> last_attempt_ = 0;

  mutable Mutex mu_;
  std::vector<uint64_t> complaints_ ABSL_GUARDED_BY(mu_);

  // Touched by the queue's closures alone.
  std::unique_ptr<Partition> partition_;  // Null once closed.
  absl::flat_hash_map<Ticket, AnswerTo> answers_;
  absl::flat_hash_map<Ticket, DoneTo> done_;
  absl::flat_hash_map<uint64_t, Node> peers_;  // By incarnation.
  Ticket last_ticket_ = 0;
  bool timed_ = false;  // An order that has a time was given.

  SerialQueue queue_;  // Last: it drains before the rest goes.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_PARTITION_ACTOR_H_
