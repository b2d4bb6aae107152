#include "scheduler/service/scheduler_engine.h"

#include <iterator>
#include <utility>

namespace seraph {

SchedulerEngine::SchedulerEngine(const SchedulerOptions& options,
                                 const MonotonicClock* clock,
                                 const WallClock* wall)
    : clock_(clock), wall_(wall), core_(options, {clock->Now(), wall->Now()}) {}

SchedulerEngine::Answer SchedulerEngine::Handle(const Event& event) {
  Answer answer;
  {
    MutexLock lock(&mu_);
    // Read under the lock: the core's time never goes back.
    Outcome outcome = core_.Handle(event, {clock_->Now(), wall_->Now()});
    answer.status = std::move(outcome.status);
    answer.job = std::move(outcome.job);
    queue_.insert(queue_.end(), std::make_move_iterator(outcome.orders.begin()),
                  std::make_move_iterator(outcome.orders.end()));
  }
  CarryQueued();
  return answer;
}

void SchedulerEngine::CarryQueued() {
  {
    MutexLock lock(&mu_);
    if (carrying_ || queue_.empty()) return;
    carrying_ = true;
  }
  while (true) {
    Orders batch;
    {
      MutexLock lock(&mu_);
      batch.swap(queue_);
      if (batch.empty()) {
        carrying_ = false;
        return;
      }
    }
    for (Order& order : batch) carrier_->Carry(std::move(order));
  }
}

std::optional<JobView> SchedulerEngine::Job(absl::string_view id) const {
  return LookAt(id, 0).changed;
}

SchedulerEngine::Look SchedulerEngine::LookAt(absl::string_view id,
                                              uint64_t known) const {
  Look look;
  MutexLock lock(&mu_);
  const JobView* view = core_.Find(id);
  if (view == nullptr) return look;
  look.exists = true;
  if (view->version != known) look.changed = *view;
  return look;
}

std::vector<JobView> SchedulerEngine::Jobs() const {
  MutexLock lock(&mu_);
  return core_.Jobs();
}

size_t SchedulerEngine::CountJobs(JobState state) const {
  MutexLock lock(&mu_);
  return core_.CountJobs(state);
}

std::vector<SchedulerEngine::NodeView> SchedulerEngine::Nodes() const {
  std::vector<NodeView> nodes;
  MutexLock lock(&mu_);
  const absl::Duration now = clock_->Now();
  for (NodeRecord& record : core_.Nodes()) {
    const absl::Duration silent_for = now - record.last_heard;
    nodes.push_back({std::move(record), silent_for});
  }
  return nodes;
}

bool SchedulerEngine::IsAllFreed() const {
  MutexLock lock(&mu_);
  return core_.IsAllFreed();
}

}  // namespace seraph
