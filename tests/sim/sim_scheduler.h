// The scheduler of a simulated cluster, in one of its lives.
#ifndef SERAPH_TESTS_SIM_SIM_SCHEDULER_H_
#define SERAPH_TESTS_SIM_SIM_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/cluster/held_partition.h"
#include "common/cluster/node.h"
#include "common/io/blob_folder.h"
#include "proto/cluster.pb.h"
#include "scheduler/core/scheduler_core.h"
#include "scheduler/job/order.h"
#include "scheduler/store/state_write.h"
#include "tests/sim/cluster_world.h"
#include "tests/sim/sim_election.h"

namespace seraph::testing {

// A rank's share of the end of an epoch.
struct SimShare {
  JobRef job;
  RankRef rank;
  uint32_t epoch = 0;
  std::vector<double> sums;
  // It was computed from parameters that had moved on: must not be taken.
  bool saw_later = false;
};

// What outlives it.
struct SimSchedulerDisk {
  StateRecords records;
  uint64_t term = 0;
  // Of models that have got their names: by table, the rows.
  struct Model {
    uint64_t generation = 0;
    std::vector<std::map<Key, std::vector<float>>> tables;
  };
  std::map<std::string, Model> models;  // By job.
};

// SchedulerCore (real) with its shell: commits, then carries orders out by the
// real codecs. It may die in between.
//
// With an election it does nothing until it leads, stores over the network, and
// decides on meanwhile; what it cannot store, or where its lease is over, ends
// it.
class SimScheduler {
 public:
  template <typename T>
  using Then = std::function<void(absl::StatusOr<T>)>;

  // `election` may be null.
  SimScheduler(ClusterWorld* world, int machine, SimSchedulerDisk* disk,
               SchedulerOptions options, SimElection* election,
               int election_machine);
  ~SimScheduler();

  void Start();

  // Calls of nodes and clients.
  void Register(const Node& node, uint64_t term,
                std::vector<HeldPartition> held, Then<uint64_t> then);
  // Answered with the term, and whether the node is drained.
  using Beat = std::pair<uint64_t, bool>;
  void Heartbeat(const NodeHeartbeat& event, Then<Beat> then);
  void ReportRank(const v1::ReportRankRequest& request, Then<int> then);
  void FinishEpoch(const SimShare& share, Then<bool> then);
  void Submit(const JobSubmitted& event, Then<std::string> then);
  // Answered when the job is paused, or its checkpoint complete.
  void Pause(const std::string& job, Then<int> then);
  void Checkpoint(const std::string& job, Then<int> then);
  // Whatever else is answered at once.
  void Tell(const Event& event, Then<int> then);

  // Not while it dies, or cannot begin.
  bool works() const { return core_ != nullptr && !dead_; }
  // Requires: works().
  const SchedulerCore& core() const { return *core_; }
  uint64_t term() const { return term_; }

  // Called with each outcome's writes, before they are committed: whether the
  // scheduler dies, before or behind the commit.
  enum class Death { kNone, kBeforeCommit, kBehindCommit };
  std::function<Death()> death;
  // Another one leads: the process ends and begins anew.
  std::function<void()> deposed;
  // A process that sleeps between looking at its lease and sending an order.
  bool careless = false;

 private:
  struct CarryOut;
  friend struct CarryOut;

  Moment Now() const;
  using Done = std::function<void(const absl::Status&)>;
  // What an event has left to be done.
  struct Decided {
    StateWrites writes;
    std::string newest;  // The newest checkpoint, of those writes.
    Orders orders;
    absl::Status status;
    Done done;
  };

  // `done` gets the answer when what led to it is stored.
  void Handle(const Event& event, Done done = nullptr);
  // Stores and carries out what is in the queue, as far as it goes now.
  void Pump();
  void CarryAll(std::vector<Decided> batch);
  void Commit(const StateWrites& writes, const std::string& newest);
  std::string NewestCheckpoint() const;

  // Of one that is elected.
  void Campaign();
  void Lead();
  void KeepUp();
  void StoreThen(SimElection::Transaction transaction,
                 std::function<void()> then);
  bool HoldsLease() const { return clock_->Now() < lease_until_; }
  bool MayAct() const { return election_ == nullptr || HoldsLease(); }
  void Depose(const char* why);

  template <typename MakeEvent>
  void Person(Then<int> then, MakeEvent make_event);
  void Carry(Order order);
  void Reply(OrderId id, absl::StatusOr<ReplyBody> body);
  void Tick();
  std::unique_ptr<BlobFolder> OpenFolder(const std::string& path);

  ClusterWorld& world_;
  SimLoop& loop_;
  const int machine_;
  SimSchedulerDisk& disk_;
  const SchedulerOptions options_;
  const MonotonicClock* const clock_;
  uint64_t term_ = 0;
  std::unique_ptr<SchedulerCore> core_;
  bool dead_ = false;
  std::vector<Decided> queue_;
  bool pumping_ = false;
  bool storing_ = false;

  SimElection* const election_;
  const int election_machine_;
  uint64_t lease_ = 0;
  absl::Duration lease_until_ = -absl::InfiniteDuration();
  uint64_t transactions_ = 0;
  std::string last_;  // Transaction.
  uint64_t last_waiter_ = 0;
  struct Waiter {
    JobRef job;
    uint32_t epoch = 0;
    Then<bool> then;
  };
  std::map<uint64_t, Waiter> waiters_;  // At the end of an epoch.
  std::map<uint64_t, Then<int>> persons_;
  std::optional<SimShare> pending_share_;  // In Handle.
  std::map<OrderId, SimSchedulerDisk::Model> exported_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_SCHEDULER_H_
