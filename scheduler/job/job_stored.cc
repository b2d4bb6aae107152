// What of JobMachine outlives the scheduler, and how it goes on from there.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/job/job_machine.h"
#include "scheduler/job/node_text.h"

namespace seraph {

StoredJob JobMachine::Record() const {
  StoredJob record;
  record.id = ref_.id;
  record.number = number_;
  record.generation = ref_.generation;
  record.view = view_;
  // What changes from moment to moment is found anew.
  record.view.version = 0;
  record.view.running.clear();
  record.view.epoch_examples = 0;
  record.view.examples_per_second = 0;
  record.view.phase_fraction = 0;
  record.view.waiting_for.clear();
  record.view.least_in_sync = 0;
  record.first_server = first_server_;
  record.arithmetic = arithmetic_;
  record.output_proven = output_proven_;
  record.holders = teardown_->Holders();
  for (const Fence& fence : fences_) {
    for (Node& node : fence.teardown->Holders()) {
      record.holders.push_back(std::move(node));
    }
  }
  record.ranks = roster_.records();
  if (map_ != nullptr) record.partitions = map_->Records();
  record.origin = origin_;
  record.checkpoints = checkpoints_;
  record.last_cut = last_cut_;
  record.times_back = times_back_;
  record.decided = decided_;
  if (progress_.has_value()) {
    for (const MetricSums& sums : progress_->AllEpochSums()) {
      const auto array = sums.ToArray();
      record.epoch_sums.emplace_back(array.begin(), array.end());
    }
  }
  return record;
}

JobMachine::JobMachine(const StoredState::Job& stored,
                       const JobMachineOptions& options, OrderId* last_id,
                       Moment now, Orders* out)
    : ref_{stored.job.id, stored.job.generation},
      number_(stored.job.number),
      request_(stored.request),
      options_(options),
      last_id_(last_id),
      view_(stored.job.view),
      book_(std::make_unique<OrderBook>(ref_, options.retry, last_id)),
      teardown_(std::make_unique<Teardown>(ref_, options.retry, last_id)),
      roster_(stored.job.ranks),
      first_server_(stored.job.first_server),
      arithmetic_(stored.job.arithmetic),
      output_proven_(stored.job.output_proven),
      decided_plan_(stored.plan),
      decided_(stored.job.decided),
      origin_(stored.job.origin),
      checkpoints_(stored.job.checkpoints),
      last_cut_(stored.job.last_cut),
      times_back_(stored.job.times_back) {
  std::vector<MetricSums> sums;
  for (const std::vector<double>& epoch : stored.job.epoch_sums) {
    sums.push_back(MetricSums::FromArray(epoch).value_or(MetricSums()));
  }
  progress_.emplace(roster_.size(), std::move(sums));
  for (const Node& node : stored.job.holders) teardown_->Add(node);
  Changed();
  const bool trains = view_.state == JobState::kRunning &&
                      (view_.phase == JobPhase::kTraining ||
                       view_.phase == JobPhase::kExporting);
  if (trains && decided_plan_ != nullptr && !stored.job.partitions.empty()) {
    Adopt(stored.job, now, out);
    return;
  }
  const JobPhase phase = view_.phase;
  Leave("the scheduler was started anew", now, out);
  if (view_.state != JobState::kRunning) return;
  Log(absl::StrCat(
          "the scheduler was started anew in the phase '", JobPhaseName(phase),
          "': the job goes on from ",
          checkpoints_.empty()
              ? "its start"
              : absl::StrCat("checkpoint ", checkpoints_.back().name.manifest)),
      now, out);
  TakeBack();
  Enter(JobPhase::kRecovering);
}

// Training has gone on meanwhile: nothing is dropped or rolled back, and what
// may not have arrived is ordered again.
void JobMachine::Adopt(const StoredJob& stored, Moment now, Orders* out) {
  map_ = std::make_unique<PartitionMap>(
      ReplicaOptions{.replicas = request_->spec.tables.replicas,
                     .arithmetic = arithmetic_},
      stored.partitions);
  RefreshPlan();
  BeginTraining(now);
  Log("the scheduler was started anew; training goes on", now, out);
  map_->Resume();
  DoReplicaWork(now, out);
  for (const Node& worker : roster_.Workers()) {
    RunRanks order{plan_, {}};
    for (const uint32_t rank : roster_.RanksOf(worker)) {
      order.ranks.push_back({.rank = rank, .attempt = roster_[rank].attempt});
    }
    Send(worker, std::move(order), now, out);
    TellPlacements(worker, now, out);
  }
  // A cut that was under way is void.
  if (last_cut_ > 0 &&
      (checkpoints_.empty() || checkpoints_.back().cut < last_cut_)) {
    // Copies lie where the primaries were when they were taken.
    for (const Node& node : teardown_->Holders()) {
      if (node.role != NodeRole::kServer) continue;
      Send(node, DropCut{last_cut_}, now, out);
    }
  }
}

}  // namespace seraph
