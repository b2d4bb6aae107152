#include "worker/train/local_training.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/concurrent/mutex.h"

namespace seraph {
namespace {

// Where ranks meet at the end of an epoch.
class Meeting {
 public:
  explicit Meeting(size_t ranks) : ranks_(ranks) {}

  // Waits until all have come; false if one will not.
  bool Come(const EpochShare& share) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (here_ == 0) epochs_.emplace_back();
    LocalEpoch& epoch = epochs_.back();
    epoch.train_seconds = std::max(epoch.train_seconds, share.train_seconds);
    if (share.validation.has_value()) epoch.validation.Add(*share.validation);
    const size_t number = epochs_.size();
    if (++here_ == ranks_) {
      here_ = 0;
      finished_ = number;
      changed_.NotifyAll();
    }
    while (finished_ < number && status_.ok()) changed_.Wait(&mu_);
    return status_.ok();
  }

  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    status_.Update(status);
    if (!status_.ok()) changed_.NotifyAll();
  }

  absl::StatusOr<std::vector<LocalEpoch>> Result() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (!status_.ok()) return status_;
    return std::move(epochs_);
  }

 private:
  const size_t ranks_;
  Mutex mu_;
  CondVar changed_;
  std::vector<LocalEpoch> epochs_ ABSL_GUARDED_BY(mu_);
  size_t here_ ABSL_GUARDED_BY(mu_) = 0;
  size_t finished_ ABSL_GUARDED_BY(mu_) = 0;  // Epochs.
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

void RunRank(RankMachine* machine, LocalTables* tables, Meeting* meeting) {
  std::deque<std::pair<uint64_t, FinishedStep>> finished;
  RankActions actions;
  machine->Begin({}, &actions);
  while (true) {
    for (const RankActions::StartStep& start : actions.steps) {
      finished.emplace_back(start.id, tables->Take(start.step));
    }
    if (actions.ended.has_value()) return meeting->End(*actions.ended);
    RankActions next;
    if (actions.share.has_value()) {
      if (!meeting->Come(*actions.share)) return;
      machine->OnDecision(/*stop=*/false, &next);
    } else if (finished.empty()) {
      return meeting->End(absl::InternalError("a rank waits for nothing"));
    } else {
      auto [id, step] = std::move(finished.front());
      finished.pop_front();
      machine->OnStep(id, std::move(step), &next);
    }
    actions = std::move(next);
  }
}

}  // namespace

absl::StatusOr<std::vector<LocalEpoch>> TrainOnLocalTables(
    absl::Span<RankMachine* const> ranks, LocalTables* tables) {
  Meeting meeting(ranks.size());
  std::vector<std::thread> threads;
  for (RankMachine* const machine : ranks) {
    threads.emplace_back(
        [machine, tables, &meeting] { RunRank(machine, tables, &meeting); });
  }
  for (std::thread& thread : threads) thread.join();
  return meeting.Result();
}

}  // namespace seraph
