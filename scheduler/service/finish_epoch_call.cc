#include "scheduler/service/finish_epoch_call.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "common/log/log.h"
#include "common/rpc/grpc_status.h"
#include "common/status/status_macros.h"
#include "scheduler/service/order_codec.h"

namespace seraph {

FinishEpochCall::FinishEpochCall(Parts parts, v1::FinishEpochReply* reply)
    : parts_(std::move(parts)), shared_(std::make_shared<Shared>()) {
  {
    MutexLock lock(&shared_->mu);
    shared_->call = this;
    shared_->reply = reply;
  }
  StartRead(&request_);
}

void FinishEpochCall::FinishOnce(const std::shared_ptr<Shared>& shared,
                                 absl::StatusOr<bool> stop) {
  MutexLock lock(&shared->mu);
  if (shared->call == nullptr) return;
  if (stop.ok()) shared->reply->set_stop(*stop);
  std::exchange(shared->call, nullptr)->Finish(ToGrpcStatus(stop.status()));
}

void FinishEpochCall::OnReadDone(bool ok) {
  if (!ok) {
    if (!complete_) {
      FinishOnce(shared_, absl::InvalidArgumentError(
                              "the share ended before it was complete"));
    }
    return;
  }
  const absl::StatusOr<bool> read_on = Take(request_);
  if (!read_on.ok()) {
    if (!absl::IsInvalidArgument(read_on.status())) {
      // Of the spool: a full disk, mostly. The rank sends its share again.
      spdlog::warn(
          "share.not_kept job={} rank={} epoch={} status={} next=retry",
          shared_event_.job.id, shared_event_.share.rank.rank,
          shared_event_.share.epoch, LogValue(read_on.status()));
    }
    FinishOnce(shared_, read_on.status());
  } else if (*read_on) {
    request_.Clear();
    StartRead(&request_);
  }
}

absl::StatusOr<bool> FinishEpochCall::Take(
    const v1::FinishEpochRequest& request) {
  if (!has_header_) {
    if (!request.has_header()) {
      return absl::InvalidArgumentError("a share begins with its header");
    }
    const v1::FinishEpochHeader& header = request.header();
    has_header_ = true;
    shared_event_.job = FromProto(header.job());
    shared_event_.share.rank = FromProto(header.rank());
    shared_event_.share.epoch = header.epoch();
    shared_event_.share.sums.assign(header.validation_sums().begin(),
                                    header.validation_sums().end());
    shared_event_.share.train_seconds = header.train_seconds();
    return true;
  }
  if (request.has_run()) {
    SERAPH_RETURN_IF_ERROR(TakeRun(request.run()));
    return true;
  }
  if (!request.complete()) {
    return absl::InvalidArgumentError("a share has one header and then runs");
  }
  SERAPH_RETURN_IF_ERROR(Complete());
  return false;
}

absl::Status FinishEpochCall::TakeRun(const v1::ScoreRun& run) {
  if (run.positives_size() != run.scores_size() ||
      run.negatives_size() != run.scores_size()) {
    return absl::InvalidArgumentError(
        "a run has as many scores as positives and negatives");
  }
  if (spool_ == nullptr) {
    spool_ = std::make_unique<ScoreSpool>(parts_.spool_path());
  }
  std::vector<ScoreCount> scores(run.scores_size());
  for (int i = 0; i < run.scores_size(); ++i) {
    scores[i] = {run.scores(i), run.positives(i), run.negatives(i)};
  }
  return spool_->Append(scores);
}

absl::Status FinishEpochCall::Complete() {
  complete_ = true;
  if (spool_ != nullptr) {
    SERAPH_RETURN_IF_ERROR(spool_->Finish());
    shared_event_.share.run_file = spool_->path();
  }
  const uint64_t waiter =
      parts_.waiters->Add([shared = shared_](absl::StatusOr<bool> stop) {
        FinishOnce(shared, std::move(stop));
      });
  {
    MutexLock lock(&mu_);
    waiter_ = waiter;
  }
  shared_event_.waiter = waiter;
  // This call may have ended before the answer comes.
  parts_.engine->Handle(shared_event_,
                        [waiters = parts_.waiters, waiter, shared = shared_,
                         file = shared_event_.share.run_file](
                            const SchedulerEngine::Answer& answer) {
                          if (answer.status.ok()) return;
                          waiters->Remove(waiter);
                          if (!file.empty()) std::remove(file.c_str());
                          FinishOnce(shared, answer.status);
                        });
  return absl::OkStatus();
}

void FinishEpochCall::OnCancel() {
  uint64_t waiter;
  {
    MutexLock lock(&mu_);
    waiter = waiter_;
  }
  parts_.waiters->Remove(waiter);
  FinishOnce(shared_, absl::CancelledError("the rank waits no more"));
}

void FinishEpochCall::OnDone() { delete this; }

}  // namespace seraph
