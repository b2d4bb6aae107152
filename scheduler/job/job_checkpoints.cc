// When JobMachine's job takes checkpoints, and what becomes of them.

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "scheduler/job/job_machine.h"
#include "scheduler/job/node_text.h"

namespace seraph {
namespace {

constexpr int kMostVoidCuts = 5;  // In a row, that a person waits for.
// After which the last checkpoint does, where nobody can make a cut possible.
constexpr int kVoidCutsToFallBack = 2;
// Between two tries while all servers stop.
constexpr absl::Duration kStopPause = absl::Milliseconds(100);
constexpr char kNoCheckpoint[] = "no checkpoint: ";

// The cut did not come about; the next may. Anything else is about writing it.
bool IsVoid(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kCancelled:
      return true;
    default:
      return IsTransient(why);
  }
}

Clock Least(const std::vector<Clock>& clocks) {
  return clocks.empty() ? Clock()
                        : *std::min_element(clocks.begin(), clocks.end());
}

}  // namespace

bool JobMachine::CanCut() const {
  // A rank that waits for a worker may stand where no cut is possible: a try
  // holds the others up, so somebody has to want it.
  const bool is_wanted = pause_wanted_ || stop_wanted_ || !asking_.empty();
  return HasTables() && !publishing_ && cuts_->idle() &&
         !cuts_->directory().empty() && !let_go_.has_value() &&
         map_->AllLed() && (is_wanted || roster_.Waiting().empty());
}

std::vector<PrimaryOf> JobMachine::Primaries() const {
  std::map<uint64_t, PrimaryOf> primaries;
  for (const PartitionPlacement& placement : plan_->partitions) {
    PrimaryOf& primary = primaries[placement.primary.incarnation];
    primary.server = placement.primary;
    ReplicaOrder& order = primary.partitions.emplace_back();
    order.table = placement.table;
    order.partition = placement.partition;
    order.epoch = placement.epoch;
    order.duty = ReplicaDuty::kLead;
    order.primary = placement.primary;
    order.members = {placement.primary};
    order.members.insert(order.members.end(), placement.backups.begin(),
                         placement.backups.end());
  }
  std::vector<PrimaryOf> list;
  for (auto& [incarnation, primary] : primaries) {
    list.push_back(std::move(primary));
  }
  return list;
}

uint64_t JobMachine::NextCut() {
  cut_owed_ = false;
  waiting_.insert(waiting_.end(), asking_.begin(), asking_.end());
  asking_.clear();
  return ++last_cut_;
}

bool JobMachine::CutAtEpochsEnd(Moment now, Orders* out) {
  const std::optional<CheckpointSpec>& checkpoint = plan_->spec.checkpoint;
  const bool due = checkpoint.has_value() && checkpoint->every_epochs > 0 &&
                   decided_.size() % checkpoint->every_epochs == 0;
  if (due) cut_owed_ = true;
  if (!cut_owed_ && asking_.empty() && !pause_wanted_) return false;
  // All ranks stand at the end of the epoch, and wait.
  const bool stop = *let_go_;
  let_go_.reset();
  const bool can = CanCut();
  let_go_ = stop;
  if (!can) return false;  // It is owed.
  const Clock end = {static_cast<uint32_t>(decided_.size()), 0};
  CheckpointSteps steps;
  cuts_->TakeAt(NextCut(), Primaries(), std::vector<Clock>(roster_.size(), end),
                &steps);
  Apply(steps, now, out);
  return true;
}

void JobMachine::LookAtCheckpoints(Moment now, Orders* out) {
  if (!HasTables()) return;
  const bool wanted = cut_owed_ || !asking_.empty() ||
                      ((pause_wanted_ || stop_wanted_) && cuts_->idle());
  // A primary that does not know yet that it leads would not hold entries back.
  if (wanted && now.steady >= next_cut_ && CanCut() && map_->AllSettled()) {
    CheckpointSteps steps;
    cuts_->TakeNow(NextCut(), Primaries(), !roster_.Waiting().empty(), &steps);
    Apply(steps, now, out);
  }
  if (view_.phase == JobPhase::kExporting) PublishIfReady(now, out);
}

void JobMachine::SendManifestIfReady(CheckpointSteps* steps) {
  if (cuts_ == nullptr || !cuts_->wants_manifest()) return;
  // With the sums of the epochs that are in it: a job that goes back there
  // shows them again.
  const uint32_t epochs = Least(cuts_->clocks()).epoch;
  if (progress_->finished() < epochs) return;
  WriteManifest manifest;
  manifest.plan = plan_;
  manifest.view = view_;
  if (manifest.view.epochs.size() > epochs) manifest.view.epochs.resize(epochs);
  cuts_->SendManifest(std::move(manifest), steps);
}

void JobMachine::Apply(const CheckpointSteps& steps, Moment now, Orders* out) {
  for (const auto& [to, body] : steps.orders) {
    if (to.has_value()) {
      Send(*to, body, now, out);
    } else {
      book_->Send(std::nullopt, body, now, out);
    }
  }
  if (steps.ranks_may_go_on) {
    roster_.Excuse(now.steady);
    if (let_go_.has_value()) LetRanksGo(*let_go_, now, out);
  }
  if (steps.written) {
    CheckpointSteps more;
    SendManifestIfReady(&more);
    Apply(more, now, out);
  }
  if (steps.complete) OnCheckpoint(now, out);
  if (steps.given_up.has_value()) OnNoCheckpoint(*steps.given_up, now, out);
}

void JobMachine::NoteClocks(const std::vector<Clock>& clocks) {
  const Clock least = Least(clocks);
  cut_clocks_ = least.epoch * plan_->steps_per_epoch + least.step;
}

void JobMachine::OnCheckpoint(Moment now, Orders* out) {
  void_cuts_ = 0;
  Checkpoint checkpoint;
  checkpoint.name = {cuts_->directory(), cuts_->manifest()};
  checkpoint.cut = cuts_->cut();
  checkpoint.clocks = cuts_->clocks();
  checkpoint.time = now.wall;
  checkpoint.bytes = cuts_->bytes();
  const Clock least = Least(checkpoint.clocks);
  NoteClocks(checkpoint.clocks);
  view_.checkpoint = {
      .path = absl::StrCat(cuts_->directory(), "/", cuts_->manifest()),
      .time = now.wall,
      .epoch = least.epoch,
      .step = least.step,
      .bytes = checkpoint.bytes};
  checkpoints_.push_back(std::move(checkpoint));
  const size_t keep = request_->spec.checkpoint.value_or(CheckpointSpec()).keep;
  if (checkpoints_.size() > keep) {
    checkpoints_.erase(checkpoints_.begin(), checkpoints_.end() - keep);
  }
  std::erase_if(view_.warnings, [](const std::string& warning) {
    return absl::StartsWith(warning, kNoCheckpoint);
  });
  Changed();
  Log(absl::StrCat("checkpoint ", view_.checkpoint->path, ": ", least.epoch,
                   " epochs and ", least.step, " steps, ",
                   view_.checkpoint->bytes, " bytes"),
      now, out);
  Answer(&waiting_, absl::OkStatus(), out);
  if (pause_wanted_ && cuts_->cut() >= pause_cut_) return Suspend(now, out);
  if (stop_wanted_ && cuts_->cut() >= stop_cut_) StandBy(now, out);
}

void JobMachine::OnNoCheckpoint(const absl::Status& why, Moment now,
                                Orders* out) {
  if (void_cuts_++ == 0) void_since_ = now.steady;
  next_cut_ =
      now.steady + (stop_wanted_ ? kStopPause : options_.checkpoint_pause);
  const bool is_void = IsVoid(why);
  const bool falls_back = !is_void || void_cuts_ >= kVoidCutsToFallBack;
  // What moves when servers stop is soon where it goes, and the ranks of
  // workers that have gone are soon at rest.
  const bool is_over = now.steady - void_since_ >= 3 * options_.lease;
  if (stop_wanted_ && falls_back && (is_over || !is_void)) {
    Log(absl::StrCat(kNoCheckpoint, why.message()), now, out);
    void_cuts_ = 0;
    return StandBy(now, out);
  }
  const std::vector<uint32_t> without_worker = roster_.Waiting();
  const bool nobody_helps = pause_wanted_ && !without_worker.empty() && is_void;
  if (nobody_helps && falls_back && !checkpoints_.empty()) {
    Warn(absl::StrCat("paused at the checkpoint before: a later one is not "
                      "possible while ",
                      RanksText(without_worker),
                      without_worker.size() == 1 ? " waits" : " wait",
                      " for a worker (", why.message(),
                      "); what came after it is done again"),
         now, out);
    void_cuts_ = 0;
    return Suspend(now, out);
  }
  if (is_void && (void_cuts_ < kMostVoidCuts || nobody_helps || stop_wanted_)) {
    // Who waited for it waits for the next one.
    asking_.insert(asking_.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    cut_owed_ = cut_owed_ || plan_->spec.checkpoint.has_value();
    Log(absl::StrCat("a checkpoint did not come about: ", why.message()), now,
        out);
    return;
  }
  std::erase_if(view_.warnings, [](const std::string& warning) {
    return absl::StartsWith(warning, kNoCheckpoint);
  });
  Warn(absl::StrCat(kNoCheckpoint, why.message(), "; the job goes on"), now,
       out);
  const absl::Status told(is_void ? absl::StatusCode::kUnavailable : why.code(),
                          absl::StrCat(kNoCheckpoint, why.message()));
  Answer(&waiting_, told, out);
  pause_wanted_ = false;
  Answer(&pausing_, told, out);
  void_cuts_ = 0;
}

absl::Status JobMachine::MakeCheckpoint(uint64_t waiter, Moment now,
                                        Orders* out) {
  if (HasEnded(view_.state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", ref_.id, " has ended: ", JobStateName(view_.state)));
  }
  if (view_.state != JobState::kRunning || view_.phase != JobPhase::kTraining) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", ref_.id, " does not train: it is ",
        view_.state == JobState::kRunning
            ? absl::StrCat("in the phase '", JobPhaseName(view_.phase), "'")
            : std::string(JobStateName(view_.state))));
  }
  if (cuts_->directory().empty()) {
    return absl::FailedPreconditionError(
        "there is no place for it: give the job a `checkpoint` section, or the "
        "cluster a scheduler.checkpoint_directory");
  }
  asking_.push_back(waiter);
  next_cut_ = now.steady;
  return absl::OkStatus();
}

void JobMachine::Answer(std::vector<uint64_t>* waiters,
                        const absl::Status& status, Orders* out) {
  for (const uint64_t waiter : *waiters) {
    out->push_back({0, ref_, std::nullopt, AnswerPerson{waiter, status}});
  }
  waiters->clear();
}

}  // namespace seraph
