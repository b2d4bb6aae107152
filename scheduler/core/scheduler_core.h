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
#include "scheduler/membership/node_registry.h"
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
};

struct NodeLeft {
  std::string name;
  uint64_t incarnation = 0;
};

// Answered with the job's id. AlreadyExists: another job has the submission id;
// ResourceExhausted: too many jobs wait.
struct JobSubmitted {
  std::string id;  // Random; of the new job, if there is to be one.
  JobRequest request;
};

// NotFound.
struct JobCancelled {
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

// The scheduler is going to stop, and keeps nothing: every job that has not
// ended fails, so that its ranks do not wait for nobody.
struct SchedulerStops {};

using Event =
    std::variant<NodeRegistered, NodeHeartbeat, NodeLeft, JobSubmitted,
                 JobCancelled, RankEnded, EpochShared, OrderReplied,
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
  ~SchedulerCore();

  // `now.steady` never goes back from call to call.
  Outcome Handle(const Event& event, Moment now);

  // What people see. Null for an unknown job; valid until the next Handle.
  const JobView* Find(absl::string_view id) const;
  std::vector<JobView> Jobs() const;  // Newest first.
  size_t CountJobs(JobState state) const;
  std::vector<NodeRecord> Nodes() const { return registry_.Records(); }

  // Whether everything that the job, or every job, held on nodes is free again.
  bool IsFreed(absl::string_view id) const;
  bool IsAllFreed() const;

 private:
  struct Handler;

  JobMachine* FindMachine(absl::string_view id);
  void LoseNodes(const std::vector<LostNode>& lost, Moment now, Orders* orders);
  std::vector<WorkerRoom> WorkerRooms() const;
  void StartPending(Moment now, Orders* orders);
  void ForgetOldJobs(Orders* orders);

  const SchedulerOptions options_;
  NodeRegistry registry_;
  OrderId last_order_ = 0;
  size_t started_jobs_ = 0;
  std::deque<std::string> order_of_jobs_;  // Oldest first.
  std::map<std::string, std::unique_ptr<JobMachine>, std::less<>> jobs_;
  std::map<std::string, std::string> submissions_;  // To the job's id.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_CORE_SCHEDULER_CORE_H_
