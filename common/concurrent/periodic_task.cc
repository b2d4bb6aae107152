#include "common/concurrent/periodic_task.h"

#include <utility>

#include "common/concurrent/thread_name.h"
#include "common/time/clock.h"

namespace seraph {

PeriodicTask::PeriodicTask(std::string name, absl::Duration interval,
                           absl::AnyInvocable<void()> task)
    : name_(std::move(name)), interval_(interval), task_(std::move(task)) {}

PeriodicTask::~PeriodicTask() { Stop(); }

void PeriodicTask::Start() {
  thread_ = std::thread([this] { Run(); });
}

void PeriodicTask::Stop() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void PeriodicTask::Wake() {
  MutexLock lock(&mu_);
  woken_ = true;
  changed_.NotifyAll();
}

void PeriodicTask::Run() {
  NameThisThread(name_);
  const MonotonicClock* clock = MonotonicClock::Real();
  while (true) {
    {
      MutexLock lock(&mu_);
      const absl::Duration due = clock->Now() + interval_;
      while (!stopping_ && !woken_ && clock->Now() < due) {
        changed_.WaitFor(&mu_, due - clock->Now());
      }
      if (stopping_) return;
      woken_ = false;
    }
    task_();
  }
}

}  // namespace seraph
