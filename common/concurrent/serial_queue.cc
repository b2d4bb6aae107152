#include "common/concurrent/serial_queue.h"

#include <utility>

namespace seraph {

SerialQueue::SerialQueue(Executor* executor) : executor_(executor) {}

SerialQueue::~SerialQueue() { Drain(); }

void SerialQueue::Post(absl::AnyInvocable<void()> work) {
  {
    absl::MutexLock lock(&mu_);
    pending_.push_back(std::move(work));
    if (scheduled_) return;
    scheduled_ = true;
  }
  executor_->Schedule([this] { RunBatch(); });
}

void SerialQueue::Drain() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &SerialQueue::IdleLocked));
}

void SerialQueue::RunBatch() {
  Batch batch;
  {
    absl::MutexLock lock(&mu_);
    batch.swap(pending_);
  }
  for (absl::AnyInvocable<void()>& work : batch) {
    work();
    work = nullptr;  // What it holds is freed before the next one runs.
  }
  {
    absl::MutexLock lock(&mu_);
    if (pending_.empty()) {
      scheduled_ = false;  // From here on the destructor may run.
      return;
    }
  }
  executor_->Schedule([this] { RunBatch(); });
}

}  // namespace seraph
