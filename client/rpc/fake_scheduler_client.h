// A scheduler in a test.
#ifndef SERAPH_CLIENT_RPC_FAKE_SCHEDULER_CLIENT_H_
#define SERAPH_CLIENT_RPC_FAKE_SCHEDULER_CLIENT_H_

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/rpc/scheduler_client.h"

namespace seraph::testing {

// Answers from its fields, and notes what it was asked.
class FakeSchedulerClient final : public SchedulerClient {
 public:
  // What the fake tells of jobs; by id.
  std::vector<JobView> jobs;
  ClusterView cluster;
  std::deque<ClusterView> clusters;  // One after the other, before `cluster`.
  std::function<void()> on_describe;
  std::vector<LogLine> log;
  FunctionResult result;

  // If not OK, the answer to every call but CancelJob.
  absl::Status failure;
  // If not OK, the answer to SubmitJob.
  absl::Status submit_failure;
  // If not OK, the answer to calls that change a job or a node.
  absl::Status refusal;

  // One stream of WatchJob after the other: what it tells, and how it ends.
  struct Watch {
    std::vector<JobView> statuses;
    absl::Status end;
    std::function<void()> before_the_end = [] {};
  };
  std::deque<Watch> watches;

  // Called with the fake at its end.
  std::function<void(const FakeSchedulerClient&)> on_destruction;

  FakeSchedulerClient() = default;
  FakeSchedulerClient(const FakeSchedulerClient&) = default;
  ~FakeSchedulerClient() override {
    if (on_destruction) on_destruction(*this);
  }

  std::vector<JobSubmission> submissions;
  std::vector<std::string> cancelled;
  std::vector<std::string> asked;  // "pause abc1", "drain s:1", ...

  const std::string& address() const override { return address_; }

  absl::StatusOr<std::string> SubmitJob(
      const JobSubmission& submission) override {
    if (!failure.ok()) return failure;
    if (!submit_failure.ok()) return submit_failure;
    submissions.push_back(submission);
    return std::string("new-job");
  }

  absl::StatusOr<JobView> GetJob(const std::string& id) override {
    if (!failure.ok()) return failure;
    for (const JobView& job : jobs) {
      if (job.id == id) return job;
    }
    return absl::NotFoundError(absl::StrCat("no job ", id));
  }

  absl::StatusOr<std::vector<JobView>> ListJobs() override {
    if (!failure.ok()) return failure;
    return jobs;
  }

  absl::Status WatchJob(
      const std::string& id,
      const std::function<void(const JobView&)>& on_status) override {
    if (!failure.ok()) return failure;
    if (watches.empty()) return absl::UnavailableError("nothing to tell");
    const Watch watch = std::move(watches.front());
    watches.pop_front();
    for (const JobView& job : watch.statuses) on_status(job);
    watch.before_the_end();
    return watch.end;
  }

  absl::Status ReadJobLog(
      const std::string& id, bool follow,
      const std::function<bool(const LogLine&)>& on_line) override {
    if (!failure.ok()) return failure;
    for (const LogLine& line : log) {
      if (!on_line(line)) break;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<JobView> CancelJob(const std::string& id) override {
    cancelled.push_back(id);
    JobView job;
    job.id = id;
    job.state = JobState::kCancelled;
    return job;
  }

  absl::StatusOr<CheckpointView> CheckpointJob(const std::string& id) override {
    if (!failure.ok()) return failure;
    asked.push_back(absl::StrCat("checkpoint ", id));
    if (!refusal.ok()) return refusal;
    return CheckpointView{.path = "/ckpt/m-1", .epoch = 3, .bytes = 1000};
  }

  absl::StatusOr<JobView> PauseJob(const std::string& id) override {
    return ChangeState("pause", id, JobState::kPaused);
  }

  absl::StatusOr<JobView> ResumeJob(const std::string& id) override {
    return ChangeState("resume", id, JobState::kRunning);
  }

  absl::StatusOr<FunctionResult> CallFunction(
      const std::string& id, const std::string& table,
      const FunctionCall& call) override {
    if (!failure.ok()) return failure;
    std::string arguments;
    for (const FunctionValue& value : call.arguments) {
      absl::StrAppend(&arguments, " ", ValueTypeName(TypeOf(value)));
    }
    asked.push_back(absl::StrCat("call ", id, " ", table, "[", call.column,
                                 "] ", call.function, arguments));
    if (!refusal.ok()) return refusal;
    return result;
  }

  absl::Status Drain(const std::string& node) override {
    if (!failure.ok()) return failure;
    asked.push_back(absl::StrCat("drain ", node));
    return refusal;
  }

  absl::StatusOr<ClusterView> DescribeCluster() override {
    if (!failure.ok()) return failure;
    if (clusters.empty()) return cluster;
    cluster = clusters.front();
    clusters.pop_front();
    if (on_describe) on_describe();
    return cluster;
  }

 private:
  absl::StatusOr<JobView> ChangeState(const std::string& verb,
                                      const std::string& id, JobState state) {
    if (!failure.ok()) return failure;
    asked.push_back(absl::StrCat(verb, " ", id));
    if (!refusal.ok()) return refusal;
    JobView job;
    job.id = id;
    job.name = "lr";
    job.state = state;
    return job;
  }

  const std::string address_ = "fake:7400";
};

}  // namespace seraph::testing

#endif  // SERAPH_CLIENT_RPC_FAKE_SCHEDULER_CLIENT_H_
