// How JobMachine's job goes back, pauses, and goes on.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/status/errors.h"
#include "scheduler/job/job_machine.h"
#include "scheduler/job/node_text.h"

namespace seraph {

void JobMachine::GoBack(absl::string_view why, Moment now, Orders* out) {
  if (++times_back_ > options_.most_times_back) {
    return Fail(absl::StrCat("went back ", options_.most_times_back,
                             " times in a row without one further clock; the "
                             "last time: ",
                             why),
                now, out);
  }
  ++view_.recoveries;
  Log(absl::StrCat(
          "goes back to ",
          checkpoints_.empty()
              ? "its start"
              : absl::StrCat("checkpoint ", checkpoints_.back().name.manifest),
          ": ", why),
      now, out);
  Leave(absl::StrCat("the job goes back: ", why), now, out);
  TakeBack();
  Enter(JobPhase::kRecovering);
}

void JobMachine::Suspend(Moment now, Orders* out) {
  Leave("the job is paused", now, out);
  TakeBack();
  view_.state = JobState::kPaused;
  view_.waiting_for.clear();
  pause_wanted_ = false;
  Enter(JobPhase::kEnded);
  Log("paused", now, out);
  AnswerPaused(out);
}

bool JobMachine::PrepareToStop(Moment now, Orders* out) {
  // Its model is all but there.
  if (view_.phase == JobPhase::kExporting) return true;
  if (view_.phase != JobPhase::kTraining || cuts_->directory().empty()) {
    StandBy(now, out);
    return false;
  }
  if (!stop_wanted_) {
    stop_wanted_ = true;
    stop_cut_ = last_cut_ + 1;
    next_cut_ = now.steady;
    void_cuts_ = 0;
    Log("all servers are about to stop: a checkpoint comes first", now, out);
  }
  return true;
}

void JobMachine::StandBy(Moment now, Orders* out) {
  Log(absl::StrCat(
          "goes on from ",
          checkpoints_.empty()
              ? "its start"
              : absl::StrCat("checkpoint ", checkpoints_.back().name.manifest),
          " when there are servers again"),
      now, out);
  Leave("all servers are about to stop", now, out);
  TakeBack();
  stop_wanted_ = false;
  Enter(JobPhase::kRecovering);
}

// What is under way for this generation is given up, and its nodes are told.
// The next one follows.
void JobMachine::Leave(absl::string_view why, Moment now, Orders* out) {
  const std::vector<Order> open = DropOrders(out);
  if (barrier_.has_value()) barrier_->Close(absl::AbortedError(why), out);
  const bool same_life = IsPlanted(PlantedBug::kRollbackWithoutGeneration) &&
                         view_.phase == JobPhase::kTraining;
  if (!same_life) {
    teardown_->Start(open, now, out);
    if (!teardown_->done()) {
      fences_.push_back({std::move(teardown_), roster_.records()});
    }
    ++ref_.generation;
  }
  teardown_ = std::make_unique<Teardown>(ref_, options_.retry, last_id_);
  book_ = std::make_unique<OrderBook>(ref_, options_.retry, last_id_);
  roster_.GoBack();
  unplaced_.clear();
  not_to_.clear();
  scan_.reset();
  files_ = ResolvedFiles();
  map_.reset();
  plan_.reset();
  cuts_.reset();
  let_go_.reset();
  cut_owed_ = false;
  export_at_.reset();
  export_order_ = 0;
  exported_ = 0;
  publishing_ = false;
  ledger_order_ = 0;
  view_.running.clear();
  view_.epoch_examples = 0;
  view_.examples_per_second = 0;
  asking_.insert(asking_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
}

// To what was true at the cut.
void JobMachine::TakeBack() {
  origin_.reset();
  if (!checkpoints_.empty()) origin_ = checkpoints_.back();
  uint32_t epochs = 0;
  if (origin_.has_value()) {
    epochs =
        std::min_element(origin_->clocks.begin(), origin_->clocks.end())->epoch;
  }
  if (decided_.size() > epochs) decided_.resize(epochs);
  if (view_.epochs.size() > epochs) view_.epochs.resize(epochs);
  if (progress_.has_value()) {
    std::vector<MetricSums> sums = progress_->AllEpochSums();
    if (sums.size() > epochs) sums.resize(epochs);
    progress_.emplace(roster_.size(), std::move(sums));
  }
  Changed();
}

bool JobMachine::ChooseNodesNow(ClusterNodes* nodes) {
  // The bytes of a cut are those of its arithmetic.
  const bool as_before = origin_.has_value() && !arithmetic_.empty();
  std::vector<Node> servers;
  for (const ServerRoom& room : nodes->servers) {
    if (room.draining) continue;
    if (as_before && room.node.arithmetic != arithmetic_) continue;
    servers.push_back(room.node);
  }
  std::vector<WorkerRoom> workers;
  for (const WorkerRoom& room : nodes->workers) {
    if (as_before && room.node.arithmetic != arithmetic_) continue;
    workers.push_back(room);
  }
  const bool bsp = request_->spec.sync.mode == SyncMode::kBsp;
  absl::StatusOr<NodeChoice> choice =
      ChooseNodes(servers, workers, roster_.size(), bsp);
  if (!choice.ok()) {
    Wait(choice.status().message());
    return false;
  }
  Wait("");
  servers_ = std::move(choice->servers);
  if (bsp) arithmetic_ = servers_.front().arithmetic;
  for (uint32_t rank = 0; rank < roster_.size(); ++rank) {
    const Node& worker = choice->worker_of_rank[rank];
    roster_.Assign(rank, worker);
    for (WorkerRoom& room : nodes->workers) {
      if (room.node.incarnation == worker.incarnation) ++room.taken;
    }
  }
  return true;
}

void JobMachine::Recover(ClusterNodes* nodes, Moment now, Orders* out) {
  if (!fences_.empty()) {
    return Wait(
        absl::StrCat("what it held before to be freed on ", HoldersText()));
  }
  if (nodes->stops) return Wait("servers: those that are there stop");
  if (!ChooseNodesNow(nodes)) return;
  Log(absl::StrCat("goes on as generation ", ref_.generation, ": servers ",
                   NodeNames(servers_), "; workers ",
                   NodeNames(roster_.Workers())),
      now, out);
  if (decided_plan_ == nullptr) {
    BeginScanning(now, out);
  } else {
    Place(now, out);
  }
}

void JobMachine::ForgetCheckpoint(const absl::Status& why, Moment now,
                                  Orders* out) {
  Warn(absl::StrCat("checkpoint ", origin_->name.manifest,
                    " cannot be used: ", why.message()),
       now, out);
  std::erase_if(checkpoints_, [&](const Checkpoint& checkpoint) {
    return checkpoint.cut == origin_->cut;
  });
  if (checkpoints_.empty()) view_.checkpoint.reset();
  GoBack(absl::StrCat("its last checkpoint cannot be used: ", why.message()),
         now, out);
}

absl::Status JobMachine::Pause(uint64_t waiter, Moment now, Orders* out) {
  if (HasEnded(view_.state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", ref_.id, " has ended: ", JobStateName(view_.state)));
  }
  if (view_.phase == JobPhase::kExporting) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", ref_.id, " has trained, and writes its model"));
  }
  if (view_.phase == JobPhase::kTraining) {
    if (cuts_->directory().empty()) {
      return absl::FailedPreconditionError(
          "there is no place for its checkpoint: give the job a `checkpoint` "
          "section, or the cluster a scheduler.checkpoint_directory");
    }
    pausing_.push_back(waiter);
    if (!pause_wanted_) {
      pause_wanted_ = true;
      pause_cut_ = last_cut_ + 1;
      next_cut_ = now.steady;
      Log("is to pause at a checkpoint", now, out);
    }
    return absl::OkStatus();
  }
  pausing_.push_back(waiter);
  if (view_.state == JobState::kRunning) {
    Suspend(now, out);
  } else {
    if (view_.state == JobState::kPending) {
      view_.state = JobState::kPaused;
      view_.waiting_for.clear();
      Enter(JobPhase::kEnded);
      Log("paused", now, out);
    }
    AnswerPaused(out);
  }
  return absl::OkStatus();
}

absl::Status JobMachine::Resume(Moment now, Orders* out) {
  if (HasEnded(view_.state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", ref_.id, " has ended: ", JobStateName(view_.state)));
  }
  if (view_.state != JobState::kPaused) return absl::OkStatus();
  Answer(&pausing_, absl::AbortedError("the job was resumed"), out);
  view_.state = JobState::kPending;
  Enter(JobPhase::kWaiting);
  Log("resumed", now, out);
  return absl::OkStatus();
}

void JobMachine::AnswerPaused(Orders* out) {
  if (view_.state != JobState::kPaused || !NothingHeld()) return;
  Answer(&pausing_, absl::OkStatus(), out);
}

}  // namespace seraph
