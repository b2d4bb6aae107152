// Everything the scheduler decides.
#ifndef SERAPH_SCHEDULER_CORE_SCHEDULER_CORE_H_
#define SERAPH_SCHEDULER_CORE_SCHEDULER_CORE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/cluster/held_partition.h"
#include "common/cluster/node.h"
#include "scheduler/job/epoch_barrier.h"
#include "scheduler/job/job_machine.h"
#include "scheduler/job/job_plan.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/job_view.h"
#include "scheduler/job/order.h"
#include "scheduler/job/stored_job.h"
#include "scheduler/membership/node_registry.h"
#include "scheduler/membership/silent_links.h"
#include "scheduler/placement/node_choice.h"
#include "scheduler/store/state_write.h"

namespace seraph {

// What happens to the scheduler. Where an error is named, it is the answer.

struct NodeRegistered {
  Node node;
  std::vector<HeldPartition> held;  // What the node has from before.
};

// NotFound: the node must register again.
struct NodeHeartbeat {
  std::string name;
  uint64_t incarnation = 0;
  NodeLoad load;
  // Servers that have not confirmed something for a lease: incarnations.
  std::vector<uint64_t> silent_peers;
};

struct NodeLeft {
  std::string name;
  uint64_t incarnation = 0;
};

// Moves everything off a node; `incarnation` 0: whichever runs. One that is
// `leaving` ends soon, whoever takes over or not. NotFound; FailedPrecondition
// (nobody can take over; not for one that is leaving).
struct NodeDrained {
  std::string name;
  uint64_t incarnation = 0;
  bool leaving = false;
};

// Answered with the job's id. AlreadyExists: another job has the submission id;
// ResourceExhausted: too many jobs wait; InvalidArgument: more replicas than
// there are servers.
struct JobSubmitted {
  std::string id;  // Random; of the new job, if there is to be one.
  JobRequest request;
};

// NotFound.
struct JobCancelled {
  std::string id;
};

// These wait as `waiter`, a number that is never used again, for AnswerPerson.
// NotFound; FailedPrecondition (a job that has ended, or does not train): then
// nobody waits.
struct JobPaused {
  std::string id;
  uint64_t waiter = 0;
};

struct CheckpointAsked {
  std::string id;
  uint64_t waiter = 0;
};

// NotFound; FailedPrecondition (a job that has ended).
struct JobResumed {
  std::string id;
};

// A rank ended. NotFound (no such job); FailedPrecondition (of another life of
// the job, the rank or the worker).
struct RankEnded {
  JobRef job;
  RankRef rank;
  uint64_t incarnation = 0;  // Of the worker.
  absl::Status status;       // OK: it has done all of its clocks.
};

// A rank stands at the end of an epoch and waits as `waiter`, a number that is
// never used again, for AnswerEpoch. On an error (as RankEnded) nobody waits
// and the share's file is the caller's to remove; else the core orders its
// removal.
struct EpochShared {
  JobRef job;
  EpochReport share;
  uint64_t waiter = 0;
};

// An order was carried out, or could not be.
struct OrderReplied {
  Reply reply;
};

// How far an order of the shell has come, 0 to 1.
struct OrderProgressed {
  OrderId order = 0;
  double fraction = 0;
};

// To be told about ten times in each heartbeat timeout, and not less than ten
// times a second.
struct TimePassed {};

// The scheduler is going to stop. If it keeps nothing, every job that has not
// ended fails, so that its ranks do not wait for nobody; else they go on.
struct SchedulerStops {};

using Event =
    std::variant<NodeRegistered, NodeHeartbeat, NodeLeft, NodeDrained,
                 JobSubmitted, JobCancelled, JobPaused, JobResumed,
                 CheckpointAsked, RankEnded, EpochShared, OrderReplied,
                 OrderProgressed, TimePassed, SchedulerStops>;

struct Outcome {
  absl::Status status;  // The answer to whoever sent the event.
  std::string job;      // JobSubmitted: its id.
  // To be stored before the answer is given, any order is carried out, or
  // anybody sees what has changed.
  StateWrites writes;
  Orders orders;  // To be carried out, in this order.
  // Not OK: the stored state is an older one than what nodes have seen, or
  // cannot be gone on with. Nothing may leave any more; the scheduler ends with
  // this sentence.
  absl::Status fatal;
};

struct SchedulerOptions {
  bool keeps_state =
      false;  // What an Outcome asks to be stored is found again.
  absl::Duration heartbeat_timeout = absl::Seconds(5);
  size_t max_jobs = 1000;  // Ended ones beyond that are forgotten.
  size_t max_pending_jobs = 1000;
  JobMachineOptions job;
};

// A state machine without IO, threads, messages or clocks of its own: events
// and the time go in, orders come out, so that one thread can drive it through
// any history. Job logic is in JobMachine, one for each job.
//
// Threads: one at a time.
class SchedulerCore {
 public:
  SchedulerCore(const SchedulerOptions& options, Moment start);

  // Goes on from what was stored; none: as above. The orders that follow come
  // with the first outcome.
  // Errors: DataLoss for records that cannot be read, with their key.
  static absl::StatusOr<std::unique_ptr<SchedulerCore>> Restore(
      const SchedulerOptions& options, const StateRecords& records,
      Moment start);

  ~SchedulerCore();

  // `now.steady` never goes back from call to call.
  Outcome Handle(const Event& event, Moment now);

  // What people see. Null for an unknown job; valid until the next Handle.
  const JobView* Find(absl::string_view id) const;
  std::vector<JobView> Jobs() const;  // Newest first.
  // What the job is, and where its partitions are now; null while it has none.
  std::shared_ptr<const JobPlan> FindPlan(absl::string_view id) const;
  size_t CountJobs(JobState state) const;
  std::vector<NodeRecord> Nodes() const { return registry_.Records(); }

  // What the servers hold of all jobs, by incarnation.
  std::map<uint64_t, HeldReplicas> HeldByServer() const;
  size_t CountDegraded() const;  // Partitions with fewer copies than wanted.
  // Nothing of any job is left on it, and it drains: it may stop.
  bool IsDrained(uint64_t incarnation) const;
  // As the registry's. Jobs make their checkpoints then, and let all nodes go.
  size_t CountLeaving() const { return registry_.CountLeaving(); }
  bool AllServersStop() const { return registry_.AllServersStop(); }

  // Whether everything that the job, or every job, held on nodes is free again.
  bool IsFreed(absl::string_view id) const;
  bool IsAllFreed() const;

 private:
  struct Handler;

  SchedulerCore(const SchedulerOptions& options, const StoredState& stored,
                Moment start);

  JobMachine* FindMachine(absl::string_view id);
  void LoseNodes(const std::vector<LostNode>& lost, Moment now, Orders* orders);
  ClusterNodes FindNodes() const;
  void Advance(Moment now, Orders* orders);
  void ForgetOldJobs(Orders* orders);
  StoredChanges FindChanges();

  const SchedulerOptions options_;
  NodeRegistry registry_;
  OrderId last_order_ = 0;
  size_t started_jobs_ = 0;
  std::deque<std::string> order_of_jobs_;  // Oldest first.
  std::map<std::string, std::unique_ptr<JobMachine>, std::less<>> jobs_;
  std::map<std::string, std::string> submissions_;  // To the job's id.
  uint64_t last_number_ = 0;                        // Of a job.
  SilentLinks links_;
  Orders first_orders_;  // Of a scheduler that was started anew.

  // What is stored, so that only changes are.
  struct Stored {
    const void* request = nullptr;
    const void* plan = nullptr;
    StoredJob job;
    bool final = false;  // Ended and freed: nothing changes any more.
  };
  std::map<std::string, Stored> stored_;
  std::vector<std::string> forgotten_;
  uint64_t stored_nodes_ = 0;  // NodeRegistry::known_version().
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_CORE_SCHEDULER_CORE_H_
