// A cluster around a SchedulerCore, in one thread: nodes and a shell that carry
// out its orders in memory, as the real ones would.
//
// Any kind of order can be held back, to be answered late, twice, or never.
#ifndef SERAPH_SCHEDULER_CORE_FAKE_CLUSTER_H_
#define SERAPH_SCHEDULER_CORE_FAKE_CLUSTER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "scheduler/core/scheduler_core.h"

namespace seraph {

// A logistic regression on one file of 100 records; one rank.
JobSpec SmallJob();

class FakeCluster {
 public:
  explicit FakeCluster(SchedulerOptions options = {});

  // Nodes ---------------------------------------------------------------------
  // Named "s1", "s2", ..., "w1", ...; they send heartbeats while time passes.
  void AddServers(int n);
  void AddWorkers(int n, uint32_t slots = 64);
  Node Register(const std::string& name, NodeRole role, uint32_t slots = 0,
                const std::string& arithmetic = "x");
  const Node& node(const std::string& name) const { return nodes_.at(name); }

  // From now on it neither answers nor sends heartbeats.
  void Silence(const std::string& name) { silent_.insert(name); }
  // A new incarnation under the same name, empty; returns the old one.
  Node Restart(const std::string& name);
  void Leave(const std::string& name);
  // It sends heartbeats again, and what it was sent meanwhile arrives.
  void Wake(const std::string& name);

  // A scheduler in the place of this one, which goes on from what was stored.
  // What the old one had sent and got no answer to is lost.
  void RestartScheduler();

  // Jobs ----------------------------------------------------------------------
  std::string Submit(const JobSpec& spec,
                     const std::string& submission_id = "");
  void Cancel(const std::string& job);
  // Each returns the waiter's number.
  uint64_t Pause(const std::string& job);
  uint64_t MakeCheckpoint(const std::string& job);
  absl::Status Resume(const std::string& job);
  JobView View(const std::string& job) const { return *core_->Find(job); }
  JobState StateOf(const std::string& job) const { return View(job).state; }
  JobPhase PhaseOf(const std::string& job) const { return View(job).phase; }

  // The ranks of the job do epoch `epoch` (from 0): 10 (rank + 1) examples
  // each, of loss `loss` each. With `meet` they share their validation, whose
  // log loss is `validation_loss`, and wait.
  void TrainEpoch(const std::string& job, uint32_t epoch, bool meet = true,
                  double loss = 0.5, double validation_loss = 0.5);
  // One rank's part of that.
  void EndEpochInLedger(const std::string& job, uint32_t rank, uint32_t epoch,
                        double loss);
  absl::Status ShareEpoch(const std::string& job, uint32_t rank, uint32_t epoch,
                          double validation_loss = 0.5);
  absl::Status EndRank(const std::string& job, uint32_t rank,
                       const absl::Status& status = absl::OkStatus());
  void EndRanks(const std::string& job);

  // The rank's next entry in the middle of an epoch, in the ledger.
  void StandAt(const std::string& job, uint32_t rank, Clock clock);
  // The life in which the rank was started last, and by whom.
  struct RankLife {
    JobRef job;
    RankRef rank;
    Node worker;
  };
  RankLife LifeOf(const std::string& job, uint32_t rank) const;
  uint64_t GenerationOf(const std::string& job) const {
    return generations_.at(job);
  }

  // Time and orders -----------------------------------------------------------
  Moment now() const { return now_; }
  void Pass(absl::Duration time);  // In steps of 100 ms, carrying out orders.
  Outcome Handle(const Event& event);

  // Carries out what there is, and what follows, but for orders held back.
  void Run();

  // Orders of this kind wait in held() from now on, or are carried out again.
  template <typename Body>
  void Hold() {
    held_kinds_.insert(OrderBody(Body()).index());
  }
  template <typename Body>
  void LetGo() {
    held_kinds_.erase(OrderBody(Body()).index());
    std::deque<Order> held;
    held.swap(held_);
    for (Order& order : held) queue_.push_back(std::move(order));
    Run();
  }
  const std::deque<Order>& held() const { return held_; }
  template <typename Body>
  int HeldOf() const {
    int n = 0;
    for (const Order& order : held_) {
      n += std::holds_alternative<Body>(order.body);
    }
    return n;
  }

  // Answers the next order of this kind, once, with an error.
  template <typename Body>
  void FailNext(const absl::Status& status) {
    failures_[OrderBody(Body()).index()].push_back(status);
  }
  // The same for every one until the status is OK.
  template <typename Body>
  void FailAlways(const absl::Status& status) {
    always_[OrderBody(Body()).index()] = status;
  }

  // What the nodes and the shell have
  // ------------------------------------------
  using JobsByNode = std::map<std::string, std::set<std::string>>;
  JobsByNode tables;    // Servers that hold partitions of jobs.
  JobsByNode activity;  // Workers that scan for jobs or run their ranks.
  // The job holds nothing, and nothing is under way for it.
  bool HoldsNothing(const std::string& job) const;

  // Checkpoints ---------------------------------------------------------------
  // Manifests that are there, by path; of each, the ledger at the cut.
  std::map<std::string, LedgerReading> checkpoints;
  std::map<uint64_t, absl::Status> answers;  // To people, by waiter.
  StateRecords stored;                       // As of the last outcome.
  int stored_times = 0;

  std::set<std::string> unnamed_models;    // Exported, not published: job ids.
  std::set<std::string> models;            // Published: job ids.
  std::map<std::string, JobView> records;  // Written at the end, by job.
  std::set<std::string> spool_files;
  std::map<uint64_t, AnswerEpoch> epoch_answers;         // By waiter.
  std::map<std::string, std::vector<std::string>> logs;  // By job.
  std::map<std::string, LedgerReading> ledgers;          // By job.
  std::vector<std::string> lost_nodes;                   // In order.
  std::vector<Order> carried_out;                        // All, in order.
  std::vector<uint64_t> waiters;  // Of ShareEpoch, in order.

  // What the data is like; read when a job scans.
  ResolvedFiles files;
  std::function<DatasetFacts(const ScanPiece&)> scan;
  std::optional<double> auc = 0.75;

  SchedulerCore& core() { return *core_; }
  const SchedulerCore& core() const { return *core_; }

  // All orders of a kind that were carried out, with what they name.
  template <typename Body>
  std::vector<Order> CarriedOut() const {
    std::vector<Order> orders;
    for (const Order& order : carried_out) {
      if (std::holds_alternative<Body>(order.body)) orders.push_back(order);
    }
    return orders;
  }

 private:
  struct CarryOut;

  void Enqueue(Outcome* outcome);
  void Enqueue(Orders orders);
  void CarryOutLate(const Order& order);
  // No rank is an epoch or more away from the cut.
  bool AllStandAt(const std::string& job, const TakeCut& take);
  absl::Status TakeFailure(const Order& order);

  const SchedulerOptions options_;
  Moment now_;
  std::unique_ptr<SchedulerCore> core_;
  std::map<std::string, Node> nodes_;
  std::set<std::string> silent_;
  uint64_t last_incarnation_ = 100;
  uint64_t last_waiter_ = 0;
  std::map<std::string, uint64_t> generations_;  // By job: with tables.
  // By server and job: generations that it takes no more.
  std::map<std::pair<std::string, std::string>, uint64_t> dropped_;
  // Of cuts that were taken: by job and cut.
  std::map<std::pair<std::string, uint64_t>, LedgerReading> cut_ledgers_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<ReplicaOrder>>
      cut_partitions_;  // By incarnation and cut.
  int submitted_ = 0;
  std::deque<Order> queue_;
  std::set<size_t> held_kinds_;
  std::deque<Order> held_;
  std::map<OrderId, Order> late_;  // Given up, and on their way.
  std::map<size_t, std::deque<absl::Status>> failures_;
  std::map<size_t, absl::Status> always_;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_CORE_FAKE_CLUSTER_H_
