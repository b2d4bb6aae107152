// The jobs whose partitions this server holds.
#ifndef SERAPH_SERVER_SERVICE_JOB_DIRECTORY_H_
#define SERAPH_SERVER_SERVICE_JOB_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/cluster/held_partition.h"
#include "common/cluster/replica.h"
#include "common/concurrent/executor.h"
#include "common/concurrent/mutex.h"
#include "server/service/served_job.h"

namespace seraph {

struct JobDirectoryOptions {
  uint64_t incarnation = 0;  // Of this server.
  uint64_t memory_limit_bytes = 0;
  // Of requests that are not answered; 0: an eighth of memory_limit_bytes.
  uint64_t inflight_limit_bytes = 0;
  bool noop = false;  // ReplicaSurroundings::noop.
};

// What carries work out. All must outlive the directory, and what is left on
// the partitions' executor then; nothing may be left on that for files when the
// directory goes, or come to it after Stop.
struct JobDirectoryParts {
  Executor* executor = nullptr;  // Of the partitions.
  Executor* files = nullptr;     // Makes and restores partitions.
  const MonotonicClock* clock = nullptr;
  PeerSender* peers = nullptr;
};

// What the scheduler orders this server to hold of a job from its start or from
// a cut.
struct Assignment {
  JobName job;
  JobSetup setup;
  std::vector<ReplicaOrder> replicas;  // To lead or to follow.
  // The state of a partition at the cut; called on the executor for files.
  // Null: all are new.
  std::function<absl::StatusOr<std::unique_ptr<PartitionState>>(
      const PartitionOptions&, const KeyRange&)>
      restore;
};

// A generation of a job is taken only where it is the one that is here: a newer
// one is not yet known, an older one over. Only the scheduler's orders begin a
// generation, which ends the one before it.
//
// Threads: every method may be called from any thread. References to jobs may
// outlive this. Callbacks come on an executor, or on the caller's thread, with
// no lock held.
class JobDirectory {
 public:
  using Confirm = absl::AnyInvocable<void(absl::Status)>;
  using Told =
      absl::AnyInvocable<void(absl::StatusOr<std::vector<ReplicaState>>)>;

  JobDirectory(const JobDirectoryParts& parts,
               const JobDirectoryOptions& options);

  ~JobDirectory();  // As Stop.

  // Closes all jobs, and begins nothing any more. May be repeated.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

  // Orders -----------------------------------------------------------------

  // Creates the partitions and gives them their first duty. Done once per
  // generation: a repeat, also while the first is under way, is confirmed when
  // that is done, and one after Drop refused. One that failed may be repeated.
  // Errors: FailedPrecondition (an older generation, or one that was dropped),
  // InvalidArgument (a table or partition that cannot be), ResourceExhausted
  // (the tables do not fit into the memory limit), those of `restore`.
  void Assign(Assignment assignment, Confirm done) ABSL_LOCKS_EXCLUDED(mu_);

  // Gives replicas new duties, and makes those that join; `setup` is for a
  // server that held nothing of the job in this generation. Each order is
  // answered, in order. Errors, for all of it: as Assign, and Unavailable while
  // the job is being restored.
  void Configure(const JobName& name, const std::optional<JobSetup>& setup,
                 std::vector<ReplicaOrder> orders, Told told)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Frees the job of this or an older generation, and refuses it from now on;
  // `done` when its memory is free.
  void Drop(const JobName& name, Confirm done) ABSL_LOCKS_EXCLUDED(mu_);

  // Requests ---------------------------------------------------------------

  // The job, if it is here in exactly this generation. Errors: NotFound;
  // FailedPrecondition with the reason GENERATION_NEWER (not yet here) or
  // GENERATION_STALE.
  absl::StatusOr<std::shared_ptr<const ServedJob>> Find(
      const JobName& name) const ABSL_LOCKS_EXCLUDED(mu_);

  // Others -----------------------------------------------------------------

  void OnLinkBroken(uint64_t peer) ABSL_LOCKS_EXCLUDED(mu_);
  // To be called every few milliseconds.
  void Tick() ABSL_LOCKS_EXCLUDED(mu_);

  std::vector<std::shared_ptr<const ServedJob>> All() const
      ABSL_LOCKS_EXCLUDED(mu_);
  // For the scheduler: what is held, and servers that are silent.
  std::vector<HeldPartition> Held() const ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<uint64_t> SilentPeers() const ABSL_LOCKS_EXCLUDED(mu_);

  const Admission& admission() const { return *admission_; }
  uint64_t incarnation() const { return options_.incarnation; }

 private:
  using JobPtr = std::shared_ptr<const ServedJob>;
  using Place = ServedJob::Place;
  struct Restoring;

  // What is remembered of a job for the life of this process.
  struct Known {
    uint64_t dropped = 0;   // The highest generation that was dropped.
    uint64_t assigned = 0;  // The one whose assignment was taken.
    std::shared_ptr<Restoring> restoring;  // ... and is under way.
    JobPtr job;                            // Null: nothing is held.
    uint64_t generation = 0;  // The highest that an order has named.
    // The highest seen in it, also of replicas that are gone.
    std::map<Place, uint64_t> epochs;
  };

  // Begins a generation that an order names, which ends an older one; the job
  // that went, if any, to be closed without the lock. Errors: stale ones.
  absl::StatusOr<JobPtr> Enter(const JobName& name, Known* known)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Where an order of Configure goes.
  struct Step {
    std::shared_ptr<PartitionActor> actor;  // Null: nothing is held, and so
    ReplicaState state;                     // this is the answer.
  };
  absl::Status PlanConfigure(const JobName& name,
                             const std::optional<JobSetup>& setup,
                             const std::vector<ReplicaOrder>& orders,
                             JobPtr* gone, std::vector<Step>* steps)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckMemory(const JobSetup& setup,
                           const std::vector<ReplicaOrder>& orders) const;
  // With admission of its own.
  std::shared_ptr<ServedJob> NewJob(
      const JobName& name, std::shared_ptr<const JobSetup> setup) const;
  // `state` null: one that can only join.
  std::shared_ptr<PartitionActor> NewActor(
      const ServedJob& job, Place place,
      std::unique_ptr<PartitionState> state) const;
  void Restore(const std::shared_ptr<Restoring>& restoring, size_t index)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The steps of an assignment.
  void BeginAssign(const std::shared_ptr<Restoring>& restoring);
  void FinishAssign(const std::shared_ptr<Restoring>& restoring)
      ABSL_LOCKS_EXCLUDED(mu_);
  // `done` when all is closed; at once where there is nothing.
  static void Close(const JobPtr& job, absl::AnyInvocable<void()> done);

  const JobDirectoryParts parts_;
  const JobDirectoryOptions options_;
  const ReplicaSurroundings around_;
  const std::shared_ptr<Admission> admission_;

  // What waits on the partitions' executor finds the directory there, as long
  // as it goes on. Before mu_.
  struct Door {
    Mutex mu;
    JobDirectory* directory ABSL_GUARDED_BY(mu) = nullptr;
  };
  const std::shared_ptr<Door> door_ = std::make_shared<Door>();

  mutable Mutex mu_;
  std::map<std::string, Known> jobs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_JOB_DIRECTORY_H_
