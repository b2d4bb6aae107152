// One job, from its submission to the moment when all it held is free again.
#ifndef SERAPH_SCHEDULER_JOB_JOB_MACHINE_H_
#define SERAPH_SCHEDULER_JOB_JOB_MACHINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/cluster/node.h"
#include "scheduler/job/early_stop.h"
#include "scheduler/job/epoch_barrier.h"
#include "scheduler/job/job_plan.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/job_view.h"
#include "scheduler/job/order.h"
#include "scheduler/job/order_book.h"
#include "scheduler/job/scan_schedule.h"
#include "scheduler/job/teardown.h"
#include "scheduler/job/training_progress.h"
#include "scheduler/placement/node_choice.h"

namespace seraph {

struct JobMachineOptions {
  uint32_t default_partitions = 8;  // Of jobs that do not say.
  RetryOptions retry;
  absl::Duration ledger_interval = absl::Milliseconds(250);
  uint32_t scans_in_flight = 2;  // Per worker.
  uint64_t scan_piece_bytes = uint64_t{64} << 20;
};

// PENDING -> RUNNING {scanning, placing, loading, training, exporting}
//         -> SUCCEEDED | FAILED | CANCELLED
//
// The three at the end are final. Every phase sends orders and goes on when all
// have been answered; what is only slow or out of reach is tried again, any
// other error fails the job, and so does the loss of a node that holds some of
// its tables or ranks. A job that has ended frees what it held: its view shows
// the end at once, freed() comes later.
//
// Threads: one at a time.
class JobMachine {
 public:
  // `*last_id`: as OrderBook's.
  JobMachine(JobRef job, JobRequest request, const JobMachineOptions& options,
             OrderId* last_id, Moment now, Orders* out);

  const JobView& view() const { return view_; }
  const JobRequest& request() const { return *request_; }
  bool freed() const { return HasEnded(view_.state) && teardown_.done(); }

  // While PENDING: why the job does not start, and its start. `first_server`
  // spreads jobs over the servers: see PlacePartitions.
  void Wait(absl::string_view reason);
  void Start(NodeChoice choice, size_t first_server, Moment now, Orders* out);

  // Ranks that `worker` runs, or may still run, for this job.
  uint32_t RanksOn(const Node& worker) const;

  // A job that has ended stays as it is, and so does one whose model is being
  // given its name: that is the moment from which it cannot be undone.
  void Cancel(Moment now, Orders* out);

  // The scheduler stops: the job fails, whatever it does, unless it has ended.
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

  void Tick(Moment now, Orders* out);

 private:
  // What each kind of reply does.
  void OnResolved(const ResolvedFiles& files, Moment now, Orders* out);
  void OnScanned(const Order& order, DatasetFacts facts, Moment now,
                 Orders* out);
  void OnPlaced(ClosedOrder closed, const Placed& placed, Moment now,
                Orders* out);
  void OnLedger(const ReadLedger& order, const LedgerReading& reading,
                Moment now, Orders* out);
  void OnMerged(const MergedScores& scores, Moment now, Orders* out);
  void OnPublished(const Published& published, Moment now, Orders* out);
  void OnFailure(ClosedOrder order, const absl::Status& status, Moment now,
                 Orders* out);

  // The phases' beginnings.
  void SendScans(Moment now, Orders* out);
  void Place(Moment now, Orders* out);
  void Load(Moment now, Orders* out);
  void Train(Moment now, Orders* out);
  void ReadLedgerNow(Moment now, Orders* out);
  void DecideEpoch(std::optional<double> auc, Moment now, Orders* out);
  void ShowProgress(Moment now, Orders* out);
  void Export(Moment now, Orders* out);
  void Publish(OrderId exported, Moment now, Orders* out);

  void Fail(absl::string_view error, Moment now, Orders* out);
  void End(JobState state, Moment now, Orders* out);
  void Enter(JobPhase phase);
  void Log(absl::string_view text, Moment now, Orders* out) const;
  void Changed() { ++view_.version; }
  absl::Status CheckLife(const JobRef& job, const RankRef& rank) const;
  bool AllRanksDone() const { return ranks_done_.size() == view_.ranks; }
  std::string RanksText(const Node& worker) const;

  const JobRef ref_;
  const std::shared_ptr<const JobRequest> request_;
  const JobMachineOptions options_;
  JobView view_;
  OrderBook book_;
  Teardown teardown_;

  // From Start() on.
  std::vector<Node> servers_;
  std::vector<Node> worker_of_rank_;
  size_t first_server_ = 0;

  // Scanning.
  bool output_proven_ = false;
  ResolvedFiles files_;
  std::optional<ScanSchedule> scan_;

  // From placing on.
  std::shared_ptr<const JobPlan> plan_;
  std::set<std::string> unplaced_;  // Servers whose confirmation is missing.

  // From training on.
  std::optional<TrainingProgress> progress_;
  std::optional<EpochBarrier> barrier_;
  std::optional<EarlyStop> early_stop_;
  std::set<uint32_t> ranks_done_;
  OrderId ledger_order_ = 0;  // Of the last reading.
  absl::Duration next_reading_;
  absl::Duration epoch_began_;
  struct EpochEnd {
    absl::Duration seconds;
    MetricValues validation;
  };
  std::vector<EpochEnd> decided_;  // By epoch; with a barrier.

  bool publishing_ = false;  // The model is being given its name.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_JOB_MACHINE_H_
