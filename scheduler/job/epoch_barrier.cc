#include "scheduler/job/epoch_barrier.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace seraph {

EpochBarrier::EpochBarrier(JobRef job, uint32_t ranks, uint32_t decided,
                           bool stopped)
    : job_(std::move(job)), ranks_(ranks), epoch_(decided), stopped_(stopped) {}

absl::Status EpochBarrier::Take(EpochReport share, uint64_t waiter,
                                Orders* out) {
  if (closed_.has_value()) {
    return absl::FailedPreconditionError(closed_->message());
  }
  if (share.epoch > epoch_ || (stopped_ && share.epoch == epoch_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", share.rank.rank, " ends epoch ", share.epoch,
                     ", but epoch ", epoch_, stopped_ ? " was stopped" : "",
                     stopped_ ? " before" : " has not ended"));
  }
  if (share.epoch < epoch_) {
    RemoveFiles({std::move(share.run_file)}, out);
    Answer(waiter, absl::OkStatus(), stopped_ && share.epoch + 1 == epoch_,
           out);
    return absl::OkStatus();
  }
  const uint32_t rank = share.rank.rank;
  if (const auto it = waiters_.find(rank); it != waiters_.end()) {
    Answer(it->second,
           absl::AbortedError("the rank has asked again on another stream"),
           false, out);
  }
  waiters_[rank] = waiter;
  std::string repeated_file = share.run_file;
  if (!shares_.emplace(rank, std::move(share)).second) {
    RemoveFiles({std::move(repeated_file)}, out);
  }
  return absl::OkStatus();
}

void EpochBarrier::Decide(bool stop, Orders* out) {
  stopped_ = stop;
  ++epoch_;
  for (const auto& [rank, waiter] : waiters_) {
    Answer(waiter, absl::OkStatus(), stop, out);
  }
  waiters_.clear();
  RemoveFiles(TakeFiles(), out);
}

void EpochBarrier::Close(const absl::Status& why, Orders* out) {
  if (closed_.has_value()) return;
  closed_ = why;
  for (const auto& [rank, waiter] : waiters_) Answer(waiter, why, false, out);
  waiters_.clear();
  RemoveFiles(TakeFiles(), out);
}

void EpochBarrier::Answer(uint64_t waiter, const absl::Status& status,
                          bool stop, Orders* out) const {
  out->push_back({0, job_, std::nullopt, AnswerEpoch{waiter, status, stop}});
}

void EpochBarrier::RemoveFiles(std::vector<std::string> files,
                               Orders* out) const {
  std::erase(files, "");
  if (files.empty()) return;
  out->push_back(
      {0, job_, std::nullopt, seraph::RemoveFiles{std::move(files)}});
}

std::vector<std::string> EpochBarrier::TakeFiles() {
  std::vector<std::string> files;
  for (auto& [rank, share] : shares_) {
    files.push_back(std::move(share.run_file));
  }
  shares_.clear();
  return files;
}

}  // namespace seraph
