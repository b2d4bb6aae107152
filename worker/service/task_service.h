// The Tasks service: decodes, calls, encodes.
#ifndef SERAPH_WORKER_SERVICE_TASK_SERVICE_H_
#define SERAPH_WORKER_SERVICE_TASK_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "common/cluster/term_guard.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/thread_pool.h"
#include "proto/tasks.grpc.pb.h"
#include "worker/service/job_run.h"

namespace seraph {

struct TaskServiceOptions {
  WorkerParts parts;
  uint64_t memory_limit_bytes = uint64_t{1} << 30;
  TermGuard* terms = nullptr;  // Must outlive the service.
};

// proto/tasks.proto documents every method. Scanning, starting and stopping
// run on the pool, so that gRPC's threads stay free.
//
// Threads: every method may be called from any thread.
class TaskService final : public v1::Tasks::CallbackService {
 public:
  // `pool` must outlive this.
  TaskService(TaskServiceOptions options, ThreadPool* pool)
      : options_(std::move(options)), pool_(*pool) {}

  grpc::ServerUnaryReactor* Scan(grpc::CallbackServerContext* context,
                                 const v1::ScanRequest* request,
                                 v1::ScanReply* reply) override;
  grpc::ServerUnaryReactor* RunRanks(grpc::CallbackServerContext* context,
                                     const v1::RunRanksRequest* request,
                                     v1::RunRanksReply* reply) override;
  grpc::ServerUnaryReactor* UpdatePlacements(
      grpc::CallbackServerContext* context,
      const v1::UpdatePlacementsRequest* request,
      v1::UpdatePlacementsReply* reply) override;
  grpc::ServerUnaryReactor* StopJob(grpc::CallbackServerContext* context,
                                    const v1::StopJobRequest* request,
                                    v1::StopJobReply* reply) override;

  // This worker was called dead: all that it ran has gone to others. Stops it,
  // on the pool, and returns at once. What is ordered from now on is run, as
  // later attempts.
  void LetGo() ABSL_LOCKS_EXCLUDED(mu_);

  // Another scheduler leads: ranks that wait for the decision of the one before
  // ask again.
  void AskSchedulerAnew() ABSL_LOCKS_EXCLUDED(mu_);

  // Ends all ranks of all jobs as RankRunner::WindDown does, and waits for that
  // so long at most; from now on no order is taken. Returns how many still run.
  uint32_t WindDown(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mu_);

  // Stops all ranks of all jobs and waits for them; from now on no order is
  // taken.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  // That run now.
  uint32_t ranks() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Runs on the pool: `carry_out(request)` gives a reply or an error.
  template <typename Request, typename Reply, typename CarryOut>
  grpc::ServerUnaryReactor* Schedule(const Request* request, Reply* reply,
                                     CarryOut carry_out);
  // Whether an order is for this start of the worker, and of the scheduler that
  // is in charge.
  absl::Status Admit(uint64_t incarnation, uint64_t term) const;
  absl::Status CheckIncarnation(uint64_t incarnation) const;
  absl::StatusOr<v1::ScanReply> DoScan(const v1::ScanRequest& request);
  absl::Status CheckNotStopped(const std::string& job,
                               uint64_t generation) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The job as it runs here in this generation, or null.
  // Errors: FailedPrecondition where the generation is over here.
  absl::StatusOr<std::shared_ptr<JobRun>> FindRun(const v1::JobRef& job) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // What a job may take here with these ranks; of one that is not here yet it
  // counts as taken from now on. `run`: where it is here already.
  // Errors: ResourceExhausted where its ranks do not fit.
  absl::StatusOr<JobMemory> Reserve(const JobOrder& order, const JobRun* run,
                                    absl::Span<const uint32_t> ranks)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<v1::RunRanksReply> DoRunRanks(
      const v1::RunRanksRequest& request) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<v1::UpdatePlacementsReply> DoUpdatePlacements(
      const v1::UpdatePlacementsRequest& request) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<v1::StopJobReply> DoStopJob(const v1::StopJobRequest& request)
      ABSL_LOCKS_EXCLUDED(mu_);

  const TaskServiceOptions options_;
  ThreadPool& pool_;

  mutable Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::map<std::string, std::shared_ptr<JobRun>> jobs_ ABSL_GUARDED_BY(mu_);
  // Bytes of jobs whose JobRun is being made.
  std::map<std::string, uint64_t> beginning_ ABSL_GUARDED_BY(mu_);
  // The highest generation that was stopped, of each job: an order that comes
  // late does not start it again.
  std::map<std::string, uint64_t> stopped_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_WORKER_SERVICE_TASK_SERVICE_H_
