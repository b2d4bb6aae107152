#include "common/concurrent/serial_queue.h"

#include <utility>

namespace seraph {

SerialQueue::SerialQueue(Executor* executor) : executor_(executor) {}

SerialQueue::~SerialQueue() { Drain(); }

void SerialQueue::Post(absl::AnyInvocable<void()> work) {
  {
    MutexLock lock(&mu_);
    pending_.push_back(std::move(work));
    if (scheduled_) return;
    scheduled_ = true;
  }
  executor_->Schedule([this] { RunBatch(); });
}

bool SerialQueue::TryRun(absl::FunctionRef<bool()> work) {
  {
    MutexLock lock(&mu_);
    if (scheduled_) return false;
    scheduled_ = true;
  }
  const bool done = work();
  EndTurn();
  return done;
}

void SerialQueue::Drain() {
  MutexLock lock(&mu_);
  while (scheduled_) idle_.Wait(&mu_);
}

void SerialQueue::RunBatch() {
  Batch batch;
  {
    MutexLock lock(&mu_);
    batch.swap(pending_);
  }
  for (absl::AnyInvocable<void()>& work : batch) {
    work();
    work = nullptr;  // What it holds is freed before the next one runs.
  }
  EndTurn();
}

void SerialQueue::EndTurn() {
  {
    MutexLock lock(&mu_);
    if (pending_.empty()) {
      scheduled_ = false;
      // Under the lock: past it, the destructor may have run.
      idle_.NotifyAll();
      return;
    }
  }
  executor_->Schedule([this] { RunBatch(); });
}

}  // namespace seraph
