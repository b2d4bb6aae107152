// One call of FinishEpoch: a rank's share comes in, and the rank waits.
#ifndef SERAPH_SCHEDULER_SERVICE_FINISH_EPOCH_CALL_H_
#define SERAPH_SCHEDULER_SERVICE_FINISH_EPOCH_CALL_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/concurrent/mutex.h"
#include "proto/cluster.pb.h"
#include "scheduler/core/scheduler_core.h"
#include "scheduler/io/score_spool.h"
#include "scheduler/service/epoch_waiters.h"
#include "scheduler/service/scheduler_engine.h"

namespace seraph {

// Scores go to a file as they come: a message is in memory at a time.
//
// Deletes itself when gRPC is done with it.
class FinishEpochCall final
    : public grpc::ServerReadReactor<v1::FinishEpochRequest> {
 public:
  struct Parts {
    EpochWaiters* waiters;
    // Takes the share; its answer comes through the waiters, unless it is an
    // error.
    SchedulerEngine* engine;
    // The path of a new file.
    std::function<std::string()> spool_path;
  };

  // `reply` is gRPC's.
  FinishEpochCall(Parts parts, v1::FinishEpochReply* reply);

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // What an answer needs; it outlives the call.
  struct Shared {
    Mutex mu;
    FinishEpochCall* call ABSL_GUARDED_BY(mu) = nullptr;  // Null: finished.
    v1::FinishEpochReply* reply ABSL_GUARDED_BY(mu) = nullptr;
  };

  static void FinishOnce(const std::shared_ptr<Shared>& shared,
                         absl::StatusOr<bool> stop);

  // True to read on.
  absl::StatusOr<bool> Take(const v1::FinishEpochRequest& request);
  absl::Status TakeRun(const v1::ScoreRun& run);
  absl::Status Complete();

  const Parts parts_;
  const std::shared_ptr<Shared> shared_;

  // Of the reads, which come one after the other.
  v1::FinishEpochRequest request_;
  bool has_header_ = false;
  bool complete_ = false;
  EpochShared shared_event_;
  std::unique_ptr<ScoreSpool> spool_;

  Mutex mu_;
  uint64_t waiter_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_FINISH_EPOCH_CALL_H_
