#include "scheduler/service/scheduler_engine.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/concurrent/notification.h"
#include "common/concurrent/thread_name.h"
#include "common/log/log.h"
#include "common/status/errors.h"
#include "common/testing/fail_point.h"

namespace seraph {
namespace {

constexpr absl::Duration kMaxRetryPause = absl::Seconds(1);

bool MayWorkLater(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsDeadlineExceeded(status);
}

bool IsDeposed(const absl::Status& status) {
  return ReasonOf(status) == "DEPOSED";
}

}  // namespace

SchedulerEngine::SchedulerEngine(const SchedulerEngineOptions& options,
                                 const MonotonicClock* clock,
                                 const WallClock* wall, StateStore* store,
                                 std::unique_ptr<SchedulerCore> core)
    : options_(options),
      clock_(clock),
      wall_(wall),
      store_(store),
      core_(core != nullptr
                ? std::move(core)
                : std::make_unique<SchedulerCore>(
                      options.core, Moment{clock->Now(), wall->Now()})),
      thread_([this] { Run(); }) {}

SchedulerEngine::~SchedulerEngine() { Stop(); }

void SchedulerEngine::Stop() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void SchedulerEngine::Handle(const Event& event, Done done) {
  const bool wanted = done != nullptr;
  Answer answer = Decide(event, &done);
  if (wanted && done != nullptr) done(std::move(answer));
}

SchedulerEngine::Answer SchedulerEngine::Handle(const Event& event) {
  if (std::this_thread::get_id() == thread_.get_id()) {
    Done none;
    return Decide(event, &none);
  }
  Answer result;
  Notification answered;
  Handle(event, [&](Answer answer) {
    result = std::move(answer);
    answered.Notify();
  });
  answered.Wait();
  return result;
}

SchedulerEngine::Answer SchedulerEngine::Decide(const Event& event,
                                                Done* done) {
  Answer answer;
  MutexLock lock(&mu_);
  if (!halted_.ok() || !wanted_.ok() || stopping_) {
    answer.status = Refusal();
    return answer;
  }
  // One that was stopped for long, and is led by another meanwhile, would judge
  // by what was true then: a worker that is told that it is not known lets go
  // of ranks that the other one counts on.
  if (const absl::Status mine = CheckMine(); !mine.ok()) {
    wanted_ = mine;
    changed_.NotifyAll();
    answer.status = Refusal();
    return answer;
  }
  if (!stuck_.ok() && std::holds_alternative<JobSubmitted>(event)) {
    answer.status = Annotate(stuck_, "nothing can be stored at the moment");
    return answer;
  }
  // Read under the lock: the core's time never goes back.
  Outcome outcome = core_->Handle(event, {clock_->Now(), wall_->Now()});
  answer.status = std::move(outcome.status);
  answer.job = std::move(outcome.job);
  if (const auto* drain = std::get_if<NodeDrained>(&event)) {
    answer.drained = core_->IsDrained(drain->incarnation);
    answer.all_servers_stop = core_->AllServersStop();
  }
  if (!outcome.fatal.ok()) {
    wanted_ = std::move(outcome.fatal);
    changed_.NotifyAll();
    answer.status = Refusal();
    return answer;
  }
  if (store_ == nullptr) outcome.writes.clear();
  if (!outcome.writes.empty()) ++decided_;
  // What was decided before may be the reason of this answer. A heartbeat's
  // answer has no such reason, and must not wait.
  const bool behind_others = (busy_ || !queue_.empty()) && *done != nullptr &&
                             !std::holds_alternative<NodeHeartbeat>(event);
  if (outcome.writes.empty() && outcome.orders.empty() && !behind_others) {
    return answer;
  }
  queue_.push_back({std::move(outcome.writes), std::move(outcome.orders),
                    answer, std::exchange(*done, nullptr)});
  changed_.NotifyAll();
  return answer;
}

void SchedulerEngine::Run() {
  NameThisThread("decisions");
  while (true) {
    std::vector<Decided> batch;
    absl::Status wanted;
    {
      MutexLock lock(&mu_);
      while (queue_.empty() && !stopping_ && wanted_.ok()) changed_.Wait(&mu_);
      wanted = wanted_;
      batch.swap(queue_);
      if (batch.empty() && wanted.ok()) return;  // Stopping.
      busy_ = true;
    }
    if (!wanted.ok()) {
      // Perhaps it knows less because another one leads by now.
      const absl::Status mine = store_ == nullptr || IsDeposed(wanted)
                                    ? absl::OkStatus()
                                    : store_->Commit({});
      HaltNow(IsDeposed(mine) ? mine : wanted);
    }
    const bool goes_on = wanted.ok() && StoreAndCarry(&batch);
    absl::Status refusal;
    {
      MutexLock lock(&mu_);
      busy_ = false;
      if (!goes_on) {
        refusal = Refusal();
        std::move(queue_.begin(), queue_.end(), std::back_inserter(batch));
        queue_.clear();
      }
      changed_.NotifyAll();
    }
    if (goes_on) continue;
    for (Decided& decided : batch) {
      if (decided.done != nullptr) decided.done({.status = refusal});
    }
    return;
  }
}

bool SchedulerEngine::StoreAndCarry(std::vector<Decided>* batch) {
  StateWrites writes;
  uint64_t events = 0;
  for (Decided& decided : *batch) {
    if (!decided.writes.empty()) ++events;
    std::move(decided.writes.begin(), decided.writes.end(),
              std::back_inserter(writes));
  }
  if (!writes.empty()) {
    FailPoint("scheduler.decided");
    if (const absl::Status stored = Store(writes); !stored.ok()) {
      HaltNow(stored);
      return false;
    }
    FailPoint("scheduler.stored");
    MutexLock lock(&mu_);
    stored_ += events;
    changed_.NotifyAll();
  }
  // Each time: this thread may have slept for long.
  const auto is_mine = [this] {
    const absl::Status mine = CheckMine();
    if (!mine.ok()) HaltNow(mine);
    return mine.ok();
  };
  for (Decided& decided : *batch) {
    for (Order& order : decided.orders) {
      if (!is_mine()) return false;
      carrier_->Carry(std::move(order));
    }
    if (decided.done != nullptr) {
      if (!is_mine()) return false;
      std::exchange(decided.done, nullptr)(std::move(decided.answer));
    }
  }
  if (!writes.empty()) FailPoint("scheduler.ordered");
  return true;
}

absl::Status SchedulerEngine::CheckMine() const {
  return store_ == nullptr ? absl::OkStatus() : store_->Check();
}

absl::Status SchedulerEngine::Store(const StateWrites& writes) {
  const absl::Duration end = clock_->Now() + options_.patience;
  absl::Duration pause = options_.retry_pause;
  bool warned = false;
  while (true) {
    const absl::Status stored = store_->Commit(writes);
    if (stored.ok()) {
      if (warned) spdlog::info("state.stored_again");
      MutexLock lock(&mu_);
      stuck_ = absl::OkStatus();
      return stored;
    }
    if (!MayWorkLater(stored) || clock_->Now() >= end) return stored;
    if (const absl::Status mine = CheckMine(); !mine.ok()) return mine;
    if (!std::exchange(warned, true)) {
      spdlog::error("state.not_stored status={} next=retry patience={}",
                    LogValue(stored), absl::FormatDuration(options_.patience));
    }
    if (!WaitStuck(stored, pause)) return stored;
    pause = std::min(2 * pause, kMaxRetryPause);
  }
}

bool SchedulerEngine::WaitStuck(const absl::Status& status,
                                absl::Duration pause) {
  const absl::Duration end = clock_->Now() + pause;
  MutexLock lock(&mu_);
  stuck_ = status;
  changed_.NotifyAll();
  while (!stopping_ && wanted_.ok()) {
    const absl::Duration left = end - clock_->Now();
    if (left <= absl::ZeroDuration()) return true;
    changed_.WaitFor(&mu_, left);
  }
  return false;
}

void SchedulerEngine::Halt(const absl::Status& reason) {
  MutexLock lock(&mu_);
  if (!wanted_.ok() || !halted_.ok()) return;
  wanted_ = reason;
  changed_.NotifyAll();
}

void SchedulerEngine::HaltNow(const absl::Status& reason) {
  {
    MutexLock lock(&mu_);
    if (!halted_.ok()) return;
    halted_ = reason;
    changed_.NotifyAll();
  }
  spdlog::error("scheduler.halted status={}", LogValue(reason));
}

absl::Status SchedulerEngine::halted() const {
  MutexLock lock(&mu_);
  return halted_;
}

absl::Status SchedulerEngine::Refusal() const {
  if (IsDeposed(halted_) || IsDeposed(wanted_)) {
    return WithReason(absl::UnavailableError("another scheduler leads"),
                      "NOT_LEADER");
  }
  return absl::UnavailableError("the scheduler stops");
}

void SchedulerEngine::WaitStored() const {
  if (std::this_thread::get_id() == thread_.get_id()) return;
  // Not for what comes meanwhile, or it would have no end.
  const uint64_t seen = decided_;
  while (stored_ < seen && stuck_.ok() && wanted_.ok() && halted_.ok()) {
    changed_.Wait(&mu_);
  }
}

std::optional<JobView> SchedulerEngine::Job(absl::string_view id) const {
  return LookAt(id, 0).changed;
}

SchedulerEngine::Look SchedulerEngine::LookAt(absl::string_view id,
                                              uint64_t known) const {
  Look look;
  MutexLock lock(&mu_);
  WaitStored();
  const JobView* view = core_->Find(id);
  if (view == nullptr) return look;
  look.exists = true;
  if (view->version != known) look.changed = *view;
  return look;
}

std::shared_ptr<const JobPlan> SchedulerEngine::Plan(
    absl::string_view id) const {
  MutexLock lock(&mu_);
  WaitStored();
  return core_->FindPlan(id);
}

std::vector<JobView> SchedulerEngine::Jobs() const {
  MutexLock lock(&mu_);
  WaitStored();
  return core_->Jobs();
}

size_t SchedulerEngine::CountJobs(JobState state) const {
  MutexLock lock(&mu_);
  return core_->CountJobs(state);
}

std::vector<SchedulerEngine::NodeView> SchedulerEngine::Nodes() const {
  std::vector<NodeView> nodes;
  MutexLock lock(&mu_);
  const absl::Duration now = clock_->Now();
  std::map<uint64_t, HeldReplicas> held = core_->HeldByServer();
  for (NodeRecord& record : core_->Nodes()) {
    NodeView& view = nodes.emplace_back();
    view.silent_for = now - record.last_heard;
    view.held = held[record.node.incarnation];
    view.record = std::move(record);
  }
  return nodes;
}

size_t SchedulerEngine::CountDegraded() const {
  MutexLock lock(&mu_);
  return core_->CountDegraded();
}

size_t SchedulerEngine::CountLeaving() const {
  MutexLock lock(&mu_);
  return core_->CountLeaving();
}

bool SchedulerEngine::AllServersStop() const {
  MutexLock lock(&mu_);
  return core_->AllServersStop();
}

bool SchedulerEngine::IsAllFreed() const {
  MutexLock lock(&mu_);
  return core_->IsAllFreed();
}

}  // namespace seraph
