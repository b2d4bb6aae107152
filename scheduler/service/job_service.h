// The Jobs service: decodes, calls the core, encodes.
#ifndef SERAPH_SCHEDULER_SERVICE_JOB_SERVICE_H_
#define SERAPH_SCHEDULER_SERVICE_JOB_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/concurrent/executor.h"
#include "proto/jobs.grpc.pb.h"
#include "scheduler/io/job_log.h"
#include "scheduler/service/epoch_waiters.h"
#include "scheduler/service/polled_stream.h"
#include "scheduler/service/scheduler_engine.h"

namespace seraph {

// proto/jobs.proto documents every method.
//
// Threads: gRPC's.
class JobService final : public v1::Jobs::CallbackService {
 public:
  struct Parts {
    SchedulerEngine* engine;
    const JobLog* log;
    StreamPoller* poller;   // Polled five times a second.
    Executor* files;        // Where a submitted job's files are looked for.
    EpochWaiters* waiters;  // People who wait, beside the ranks.
  };

  // All parts must outlive the server that this is registered with.
  explicit JobService(const Parts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const v1::SubmitJobRequest* request,
                                      v1::SubmitJobReply* reply) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request,
                                   v1::JobStatus* reply) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsReply* reply) override;
  grpc::ServerWriteReactor<v1::JobStatus>* WatchJob(
      grpc::CallbackServerContext* context,
      const v1::WatchJobRequest* request) override;
  grpc::ServerUnaryReactor* FindTables(grpc::CallbackServerContext* context,
                                       const v1::FindTablesRequest* request,
                                       v1::FindTablesReply* reply) override;
  grpc::ServerWriteReactor<v1::JobLogLine>* ReadJobLog(
      grpc::CallbackServerContext* context,
      const v1::ReadJobLogRequest* request) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::JobStatus* reply) override;
  grpc::ServerUnaryReactor* CheckpointJob(
      grpc::CallbackServerContext* context,
      const v1::CheckpointJobRequest* request,
      v1::CheckpointJobReply* reply) override;
  grpc::ServerUnaryReactor* PauseJob(grpc::CallbackServerContext* context,
                                     const v1::PauseJobRequest* request,
                                     v1::JobStatus* reply) override;
  grpc::ServerUnaryReactor* ResumeJob(grpc::CallbackServerContext* context,
                                      const v1::ResumeJobRequest* request,
                                      v1::JobStatus* reply) override;

 private:
  absl::StatusOr<v1::SubmitJobReply> Submit(
      const v1::SubmitJobRequest& request);
  absl::Status Describe(const std::string& id, v1::JobStatus* reply) const;
  absl::StatusOr<v1::JobStatus> StatusOf(const std::string& id) const;

  // Answers with what `describe` says once the event, which gets a waiter's
  // number, has had its effect.
  template <typename AnEvent, typename Reply>
  grpc::ServerUnaryReactor* AnswerLater(
      AnEvent event, Reply* reply,
      std::function<absl::StatusOr<Reply>()> describe);

  const Parts parts_;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_JOB_SERVICE_H_
