// The scheduler's core among threads, and its memory.
#ifndef SERAPH_SCHEDULER_SERVICE_SCHEDULER_ENGINE_H_
#define SERAPH_SCHEDULER_SERVICE_SCHEDULER_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/concurrent/mutex.h"
#include "common/time/clock.h"
#include "scheduler/core/scheduler_core.h"
#include "scheduler/store/state_store.h"

namespace seraph {

// Carries out orders.
class OrderCarrier {
 public:
  virtual ~OrderCarrier() = default;

  // Begins to carry out the order, and returns soon. Whether the order wants a
  // reply, and how to give it: scheduler/job/order.h.
  virtual void Carry(Order order) = 0;
};

struct SchedulerEngineOptions {
  SchedulerOptions core;

  // How long a commit that fails for now, such as for a full disk, is tried
  // again, before the scheduler ends.
  absl::Duration patience = absl::Seconds(60);
  absl::Duration retry_pause =
      absl::Milliseconds(50);  // Doubles up to a second.
};

// Hands events to the core one at a time. What the core wants stored is stored,
// many events at once where they come fast; only then are its orders handed to
// the carrier, on a thread of the engine's own, in the order in which the core
// gave them and without a lock, so that the carrier may come back with an event
// at once; and only then is the sender of the event answered.
//
// When something cannot be stored, or another scheduler leads, the engine
// halts: nothing is decided, ordered or answered with success any more, and the
// process has to end or begin anew.
//
// Threads: every method may be called from any thread, but SetCarrier comes
// first.
class SchedulerEngine {
 public:
  // The clocks and the store must outlive this; without a store nothing is
  // stored. `core`: as it was restored; null: a new one.
  SchedulerEngine(const SchedulerEngineOptions& options,
                  const MonotonicClock* clock, const WallClock* wall,
                  StateStore* store = nullptr,
                  std::unique_ptr<SchedulerCore> core = nullptr);
  ~SchedulerEngine();  // As Stop.

  // `carrier` must outlive every order.
  void SetCarrier(OrderCarrier* carrier) { carrier_ = carrier; }

  struct Answer {
    absl::Status status;
    std::string job;  // JobSubmitted: its id.
    // NodeDrained: nothing is left there; and AllServersStop.
    bool drained = false;
    bool all_servers_stop = false;
  };
  using Done = absl::AnyInvocable<void(Answer)>;

  // `done` (may be null) gets the answer: at once, on this thread, where
  // nothing has to be stored first, else on the engine's, which it must not
  // keep. After a halt every answer is Unavailable.
  void Handle(const Event& event, Done done) ABSL_LOCKS_EXCLUDED(mu_);

  // Waits for the answer, and until the orders are with the carrier. From
  // within the carrier it does not wait. Not from a thread of gRPC.
  Answer Handle(const Event& event) ABSL_LOCKS_EXCLUDED(mu_);

  // Ends deciding for a reason: this scheduler knows less than others do.
  // Where another one leads, that is the reason.
  void Halt(const absl::Status& reason) ABSL_LOCKS_EXCLUDED(mu_);
  // OK while the engine runs.
  absl::Status halted() const ABSL_LOCKS_EXCLUDED(mu_);

  // Stores and carries what is decided, then joins. May be repeated.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  // What people see; they see nothing that is not stored, unless storing takes
  // long.
  std::optional<JobView> Job(absl::string_view id) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // The job, if its version is not `known`; 0 is never known.
  struct Look {
    bool exists = false;
    std::optional<JobView> changed;
  };
  Look LookAt(absl::string_view id, uint64_t known) const
      ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<JobView> Jobs() const ABSL_LOCKS_EXCLUDED(mu_);

  // What the job is, and where its partitions are now; null while it has none.
  std::shared_ptr<const JobPlan> Plan(absl::string_view id) const
      ABSL_LOCKS_EXCLUDED(mu_);

  size_t CountJobs(JobState state) const ABSL_LOCKS_EXCLUDED(mu_);

  struct NodeView {
    NodeRecord record;
    absl::Duration silent_for;
    HeldReplicas held;  // A server's, of all jobs.
  };
  std::vector<NodeView> Nodes() const ABSL_LOCKS_EXCLUDED(mu_);

  // Partitions of all jobs with fewer copies than wanted.
  size_t CountDegraded() const ABSL_LOCKS_EXCLUDED(mu_);

  bool IsAllFreed() const ABSL_LOCKS_EXCLUDED(mu_);

  // As the core's.
  size_t CountLeaving() const ABSL_LOCKS_EXCLUDED(mu_);
  bool AllServersStop() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // What an event has left to be done.
  struct Decided {
    StateWrites writes;
    Orders orders;
    Answer answer;
    Done done;
  };

  // Returns the answer, and moves `done` away if it is to be given later.
  Answer Decide(const Event& event, Done* done) ABSL_LOCKS_EXCLUDED(mu_);
  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  // False: the engine has halted.
  bool StoreAndCarry(std::vector<Decided>* batch) ABSL_LOCKS_EXCLUDED(mu_);
  // Whether another scheduler may lead, as far as can be told without IO.
  absl::Status CheckMine() const;
  absl::Status Store(const StateWrites& writes) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns whether to try again.
  bool WaitStuck(const absl::Status& status, absl::Duration pause)
      ABSL_LOCKS_EXCLUDED(mu_);
  void HaltNow(const absl::Status& reason) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Refusal() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitStored() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const SchedulerEngineOptions options_;
  const MonotonicClock* const clock_;
  const WallClock* const wall_;
  StateStore* const store_;
  OrderCarrier* carrier_ = nullptr;

  mutable Mutex mu_;
  mutable CondVar changed_;
  const std::unique_ptr<SchedulerCore> core_ ABSL_PT_GUARDED_BY(mu_);
  std::vector<Decided> queue_ ABSL_GUARDED_BY(mu_);
  bool busy_ ABSL_GUARDED_BY(mu_) = false;  // With what was in the queue.
  // Events that had something to store, and those of them that are stored.
  uint64_t decided_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t stored_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status stuck_ ABSL_GUARDED_BY(mu_);   // Why storing takes long.
  absl::Status wanted_ ABSL_GUARDED_BY(mu_);  // Halt's reason.
  absl::Status halted_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  std::thread thread_;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_SCHEDULER_ENGINE_H_
