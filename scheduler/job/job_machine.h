// One job, from its submission to the moment when all it held is free again.
#ifndef SERAPH_SCHEDULER_JOB_JOB_MACHINE_H_
#define SERAPH_SCHEDULER_JOB_JOB_MACHINE_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/cluster/node.h"
#include "scheduler/job/checkpoint_machine.h"
#include "scheduler/job/early_stop.h"
#include "scheduler/job/epoch_barrier.h"
#include "scheduler/job/job_plan.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/job_view.h"
#include "scheduler/job/order.h"
#include "scheduler/job/order_book.h"
#include "scheduler/job/rank_roster.h"
#include "scheduler/job/scan_schedule.h"
#include "scheduler/job/stored_job.h"
#include "scheduler/job/teardown.h"
#include "scheduler/job/training_progress.h"
#include "scheduler/membership/silent_links.h"
#include "scheduler/placement/node_choice.h"
#include "scheduler/replicas/partition_map.h"

namespace seraph {

struct JobMachineOptions {
  uint32_t default_partitions = 8;  // Of jobs that do not say.
  RetryOptions retry;
  absl::Duration ledger_interval = absl::Milliseconds(250);
  uint32_t scans_in_flight = 2;  // Per worker.
  uint64_t scan_piece_bytes = uint64_t{64} << 20;

  absl::Duration lease = absl::Seconds(5);  // The heartbeat timeout.
  // For jobs that name no folder for checkpoints; "": they have none.
  std::string checkpoint_directory;
  // Between two tries of a cut that was void.
  absl::Duration checkpoint_pause = absl::Seconds(2);
  // Until a worker that had no memory for a rank is asked again.
  absl::Duration full_worker = absl::Seconds(5);
  uint32_t most_times_back = 100;  // In a row without one further clock.
};

// What of the cluster a job may use: living nodes, with what they have of all
// jobs.
struct ClusterNodes {
  std::vector<ServerRoom> servers;
  std::vector<WorkerRoom> workers;  // None that drains.
  std::set<uint64_t> draining;      // Workers that do: incarnations.
  // All servers drain, and one at least ends whether or not it is empty.
  bool stops = false;
};

// PENDING -> RUNNING {scanning, placing, loading, training, exporting}
//         -> SUCCEEDED | FAILED | CANCELLED
// RUNNING {recovering} -> placing, and PAUSED -> PENDING -> placing
//
// The three at the end are final. Every phase sends orders and goes on when all
// have been answered; what is only slow or out of reach is tried again, any
// other error fails the job. The loss of a worker hands its ranks out anew;
// that of a partition's last copy takes the job back to its last checkpoint, or
// its start, as a new generation. A job that has ended frees what it held: its
// view shows the end at once, freed() comes later.
//
// Parts of the implementation: job_machine.cc (the life as a whole),
// job_scanning.cc (until the plan is there), job_placing.cc (tables and their
// servers), job_ranks.cc, job_training.cc (epochs and the ledger),
// job_checkpoints.cc, job_recovery.cc (going back, pausing), job_stored.cc.
//
// Threads: one at a time.
class JobMachine {
 public:
  // A new job. `*last_id`: as OrderBook's.
  JobMachine(JobRef job, JobRequest request, const JobMachineOptions& options,
             OrderId* last_id, uint64_t number, Moment now, Orders* out);

  // As it was stored: one that trains goes on, one that ended frees what it
  // held, one in an earlier phase starts over.
  JobMachine(const StoredState::Job& stored, const JobMachineOptions& options,
             OrderId* last_id, Moment now, Orders* out);

  const JobView& view() const { return view_; }
  const JobRequest& request() const { return *request_; }
  const JobRef& ref() const { return ref_; }
  // With the present placements; null while there are no tables.
  std::shared_ptr<const JobPlan> placed_plan() const {
    return HasTables() ? plan_ : nullptr;
  }
  bool freed() const { return HasEnded(view_.state) && NothingHeld(); }

  // What is to be stored; of a job, the first two never change once they are
  // there.
  const std::shared_ptr<const JobRequest>& stored_request() const {
    return request_;
  }
  const std::shared_ptr<const JobPlan>& stored_plan() const {
    return decided_plan_;
  }
  StoredJob Record() const;

  // While PENDING: starts the job on these nodes, and takes its part of them;
  // false, with the reason in its view, if they do not do. `first_server`
  // spreads jobs over the servers: see PlacePartitions.
  bool TryStart(ClusterNodes* nodes, size_t first_server, Moment now,
                Orders* out);

  // Ranks that `worker` runs, or may still run, for this job.
  uint32_t RanksOn(const Node& worker) const;
  // Adds the replicas that each server holds, by incarnation.
  void AddHeld(std::map<uint64_t, HeldReplicas>* held) const;
  size_t CountDegraded() const;  // Partitions with fewer copies than wanted.
  // Whether a node still has a part in the job: replicas, or ranks to be run.
  bool HoldsSomethingOn(uint64_t incarnation) const;

  // To be called after every event, while the job has not ended: uses what
  // there is. `nodes` is updated by what the job takes.
  void Advance(ClusterNodes* nodes, Moment now, Orders* out);

  // People. Errors: FailedPrecondition where it cannot be. `waiter` gets its
  // AnswerPerson later if the status is OK.
  // ------------------------------------

  // A job that has ended stays as it is, and so does one whose model is being
  // given its name: that is the moment from which it cannot be undone.
  void Cancel(Moment now, Orders* out);
  absl::Status Pause(uint64_t waiter, Moment now, Orders* out);
  absl::Status Resume(Moment now, Orders* out);
  absl::Status MakeCheckpoint(uint64_t waiter, Moment now, Orders* out);

  // The scheduler stops and keeps nothing: the job fails, whatever it does,
  // unless it has ended.
  void Abort(Moment now, Orders* out);

  // True if the reply is to an order of this job.
  bool Take(const Reply& reply, Moment now, Orders* out);
  void TakeProgress(OrderId order, double fraction);

  // Errors: FailedPrecondition for another generation, attempt or incarnation
  // (a late message); OK for a job that has ended.
  absl::Status EndRank(const JobRef& job, const RankRef& rank,
                       uint64_t incarnation, const absl::Status& status,
                       Moment now, Orders* out);

  // Errors: FailedPrecondition for another generation or attempt, an epoch that
  // has not begun, or a job that does not train (any more); InvalidArgument for
  // sums that are none. Nobody waits then.
  absl::Status ShareEpoch(const JobRef& job, EpochReport share, uint64_t waiter,
                          Moment now, Orders* out);

  // The node is gone; `what` says how, for people: "died: no heartbeat for 5s".
  void LoseNode(const Node& node, absl::string_view what, Moment now,
                Orders* out);

  // A node that was called dead is back as the same incarnation. What it was
  // ordered before may have reached it since it told what it holds, or may
  // still: a server is told to drop what of it is over.
  void ReturnNode(const Node& node, Moment now, Orders* out);

  // As PartitionMap's.
  void Complain(uint64_t from, absl::Span<const uint64_t> silent,
                const SilentLinks& links, Moment now, Orders* out);
  absl::Status FindHeld(const Node& server, uint64_t generation, uint32_t table,
                        uint32_t partition, uint64_t epoch, Moment now,
                        Orders* out);

  void Tick(Moment now, Orders* out);

 private:
  // An older generation, or the last one: until all nodes have confirmed that
  // they serve nothing of it, or are dead.
  struct Fence {
    std::unique_ptr<Teardown> teardown;
    std::vector<RankRecord> ranks;  // That may still run.
  };

  // job_scanning.cc
  void BeginScanning(Moment now, Orders* out);
  void OnResolved(const ResolvedFiles& files, Moment now, Orders* out);
  void OnScanned(const Order& order, DatasetFacts facts, Moment now,
                 Orders* out);
  void SendScans(Moment now, Orders* out);
  void DecidePlan(Moment now, Orders* out);

  // job_placing.cc
  void Place(Moment now, Orders* out);
  void OnPlaced(ClosedOrder closed, const Placed& placed, Moment now,
                Orders* out);
  void OnNotPlaced(const Node& server, const absl::Status& status, Moment now,
                   Orders* out);
  void Load(Moment now, Orders* out);
  void RefreshPlan();
  void DoReplicaWork(Moment now, Orders* out);
  bool TakeReplicaReply(const Order& order, const ReplyBody& body, Moment now,
                        Orders* out);
  bool FailReplicaOrder(ClosedOrder* closed, const absl::Status& status,
                        Moment now, Orders* out);
  void TellPlacements(const Node& worker, Moment now, Orders* out);

  // job_ranks.cc
  void LoseWorker(const Node& worker, absl::string_view what, Moment now,
                  Orders* out);
  void EmptyDraining(const ClusterNodes& nodes, Moment now, Orders* out);
  void HandOut(ClusterNodes* nodes, Moment now, Orders* out);
  void RunRanksOn(const Node& worker, const std::vector<uint32_t>& ranks,
                  Moment now, Orders* out);
  // The worker has no memory for them: they wait. False where none of them has
  // run before.
  bool TakeFromFullWorker(const Order& order, const absl::Status& status,
                          Moment now, Orders* out);
  void LookForStalledRank(Moment now, Orders* out);
  absl::Status CheckLife(const JobRef& job, const RankRef& rank) const;
  std::string RoomText(const ClusterNodes& nodes) const;

  // job_training.cc
  void Train(Moment now, Orders* out);
  void BeginTraining(Moment now);
  void OnMerged(const MergedScores& scores, Moment now, Orders* out);
  void DecideEpoch(std::optional<double> auc, Moment now, Orders* out);
  void LetRanksGo(bool stop, Moment now, Orders* out);
  void ReadLedgerNow(Moment now, Orders* out);
  void OnLedger(const ReadLedger& order, const LedgerReading& reading,
                Moment now, Orders* out);
  void ShowProgress(Moment now, Orders* out);
  void Export(Moment now, Orders* out);
  void OnExportFailure(ClosedOrder closed, const absl::Status& status,
                       Moment now, Orders* out);
  void PublishIfReady(Moment now, Orders* out);
  void OnPublished(const Published& published, Moment now, Orders* out);

  // job_checkpoints.cc
  bool CanCut() const;
  std::vector<PrimaryOf> Primaries() const;
  uint64_t NextCut();
  bool CutAtEpochsEnd(Moment now, Orders* out);
  void LookAtCheckpoints(Moment now, Orders* out);
  void SendManifestIfReady(CheckpointSteps* steps);
  void Apply(const CheckpointSteps& steps, Moment now, Orders* out);
  void OnCheckpoint(Moment now, Orders* out);
  void OnNoCheckpoint(const absl::Status& why, Moment now, Orders* out);
  void NoteClocks(const std::vector<Clock>& clocks);
  void Answer(std::vector<uint64_t>* waiters, const absl::Status& status,
              Orders* out);

  // job_recovery.cc
  bool ChooseNodesNow(ClusterNodes* nodes);
  void GoBack(absl::string_view why, Moment now, Orders* out);
  void Suspend(Moment now, Orders* out);  // PAUSED from here.
  // For the end of all servers. False: the job is no more in this life.
  bool PrepareToStop(Moment now, Orders* out);
  void StandBy(Moment now, Orders* out);  // Until there are servers again.
  void Leave(absl::string_view why, Moment now, Orders* out);
  void TakeBack();
  void Recover(ClusterNodes* nodes, Moment now, Orders* out);
  void AnswerPaused(Orders* out);
  void ForgetCheckpoint(const absl::Status& why, Moment now, Orders* out);

  // job_stored.cc
  void Adopt(const StoredJob& stored, Moment now, Orders* out);

  // job_machine.cc
  void OnFailure(ClosedOrder order, const absl::Status& status, Moment now,
                 Orders* out);
  void Send(const Node& node, OrderBody body, Moment now, Orders* out);
  void Fail(absl::string_view error, Moment now, Orders* out);
  void End(JobState state, Moment now, Orders* out);
  std::vector<Order> DropOrders(Orders* out);
  void Enter(JobPhase phase);
  void Wait(absl::string_view reason);  // "": for nothing.
  void Log(absl::string_view text, Moment now, Orders* out) const;
  void Warn(absl::string_view text, Moment now, Orders* out);
  void Changed() { ++view_.version; }
  bool NothingHeld() const;
  std::string HoldersText() const;
  bool HasTables() const {
    return map_ != nullptr && (view_.phase == JobPhase::kTraining ||
                               view_.phase == JobPhase::kExporting);
  }

  JobRef ref_;
  const uint64_t number_;
  const std::shared_ptr<const JobRequest> request_;
  const JobMachineOptions options_;
  OrderId* const last_id_;
  JobView view_;

  // Of this generation.
  std::unique_ptr<OrderBook> book_;
  std::unique_ptr<Teardown> teardown_;
  std::list<Fence> fences_;  // Of older ones, and of an end.
  // Incarnations of servers that were lost after they had been told of the job.
  std::set<uint64_t> lost_servers_;

  RankRoster roster_;
  std::vector<Node> servers_;  // To be placed on.
  size_t first_server_ = 0;
  std::string arithmetic_;

  // Scanning.
  bool output_proven_ = false;
  ResolvedFiles files_;
  std::optional<ScanSchedule> scan_;

  // From placing on.
  std::shared_ptr<const JobPlan> decided_plan_;  // Without placements.
  std::shared_ptr<const JobPlan> plan_;          // With the present ones.
  std::unique_ptr<PartitionMap> map_;
  std::set<uint64_t> unplaced_;  // Whose confirmation is missing.
  bool excused_ = false;         // See RankRoster::Excuse.

  // From training on.
  std::optional<TrainingProgress> progress_;
  std::optional<EpochBarrier> barrier_;
  std::optional<EarlyStop> early_stop_;
  OrderId ledger_order_ = 0;  // Of the last reading.
  bool ledger_complete_ = false;
  absl::Duration next_reading_;
  absl::Duration epoch_began_;
  std::vector<EpochDecision> decided_;   // By epoch; with a barrier.
  std::map<uint32_t, uint64_t> not_to_;  // A stalled rank's last worker.
  // By incarnation: workers without memory for ranks of this job, and until
  // when they are not asked again.
  std::map<uint64_t, absl::Duration> full_workers_;
  std::string why_full_;  // What the last of them has said.

  OrderId export_order_ = 0;
  absl::Duration export_since_;              // Of the first try in a row.
  std::optional<absl::Duration> export_at_;  // The next try.
  OrderId exported_ = 0;                     // Waits for its name.
  bool publishing_ = false;  // The model is being given its name.

  // Checkpoints.
  std::unique_ptr<CheckpointMachine> cuts_;
  std::optional<Checkpoint> origin_;
  std::vector<Checkpoint> checkpoints_;
  uint64_t last_cut_ = 0;
  std::optional<bool> let_go_;  // The decision that waits for the copies.
  bool cut_owed_ = false;
  absl::Duration next_cut_;       // Not before.
  int void_cuts_ = 0;             // In a row.
  absl::Duration void_since_;     // When the first of them was.
  uint64_t cut_clocks_ = 0;       // Clocks of the slowest rank at the last cut.
  std::vector<uint64_t> asking_;  // For a cut that has not begun.
  std::vector<uint64_t> waiting_;  // For the one under way.
  std::vector<uint64_t> pausing_;  // For the job to be PAUSED.
  bool pause_wanted_ = false;
  uint64_t pause_cut_ = 0;    // The first cut that is late enough.
  bool stop_wanted_ = false;  // As both, for the end of all servers.
  uint64_t stop_cut_ = 0;

  uint32_t times_back_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_JOB_MACHINE_H_
