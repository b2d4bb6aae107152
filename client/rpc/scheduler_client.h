// What the command line asks of a scheduler.
#ifndef SERAPH_CLIENT_RPC_SCHEDULER_CLIENT_H_
#define SERAPH_CLIENT_RPC_SCHEDULER_CLIENT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/view/cluster_view.h"
#include "client/view/job_view.h"
#include "common/functions/function_call.h"
#include "common/functions/function_result.h"

namespace seraph {

struct JobSubmission {
  std::string yaml;            // Canonical, common/job/job_spec.h.
  std::string file_name;       // For the scheduler's messages.
  std::string base_directory;  // Absolute; relative paths start there.
  // The same one twice is one job; "": none.
  std::string submission_id;
};

// Errors of every method: what the scheduler answered; Unavailable and
// DeadlineExceeded, with its address and what to do, where there was no answer;
// Cancelled when the user asked to stop during the call. A call that begins
// after that is made all the same: cleaning up needs it.
//
// Threads: one at a time.
class SchedulerClient {
 public:
  virtual ~SchedulerClient() = default;

  // For messages.
  virtual const std::string& address() const = 0;

  // The new job's id. Errors: InvalidArgument, one line for each problem;
  // AlreadyExists for a submission_id with other content.
  virtual absl::StatusOr<std::string> SubmitJob(
      const JobSubmission& submission) = 0;

  // Errors of those with an id: NotFound.
  virtual absl::StatusOr<JobView> GetJob(const std::string& id) = 0;

  // Newest first.
  virtual absl::StatusOr<std::vector<JobView>> ListJobs() = 0;

  // Hands over the status now and at every change; OK when the job has ended.
  virtual absl::Status WatchJob(
      const std::string& id,
      const std::function<void(const JobView&)>& on_status) = 0;

  // Hands over the job's events, oldest first, with `follow` until it has
  // ended; OK then, or once `on_line` returns false.
  virtual absl::Status ReadJobLog(
      const std::string& id, bool follow,
      const std::function<bool(const LogLine&)>& on_line) = 0;

  // The job afterwards.
  virtual absl::StatusOr<JobView> CancelJob(const std::string& id) = 0;

  // The three take as long as the checkpoint does. Errors: FailedPrecondition
  // for a job in a state where it cannot be done.
  virtual absl::StatusOr<CheckpointView> CheckpointJob(
      const std::string& id) = 0;
  virtual absl::StatusOr<JobView> PauseJob(const std::string& id) = 0;
  virtual absl::StatusOr<JobView> ResumeJob(const std::string& id) = 0;

  // Calls a function that reads at the servers of a job that trains; `table`
  // may be "" where the job has one only. Errors: FailedPrecondition for a job
  // without tables, and those of the servers (worker/client/function_caller.h).
  virtual absl::StatusOr<FunctionResult> CallFunction(
      const std::string& id, const std::string& table,
      const FunctionCall& call) = 0;

  virtual absl::StatusOr<ClusterView> DescribeCluster() = 0;

  // Begins to move everything off a node; returns at once. Errors: NotFound;
  // FailedPrecondition where no other node can take over.
  virtual absl::Status Drain(const std::string& node) = 0;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_RPC_SCHEDULER_CLIENT_H_
