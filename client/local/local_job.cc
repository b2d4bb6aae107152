#include "client/local/local_job.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/render/progress_renderer.h"
#include "client/rpc/job_lookup.h"
#include "common/cluster/node_identity.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(20);
constexpr absl::Duration kDeathPatience = absl::Seconds(2);

// A local scheduler is known to run; on a busy machine it may take its time.
constexpr absl::Duration kCallTimeout = absl::Seconds(30);
constexpr absl::Duration kSilencePatience = absl::Seconds(30);

std::string Count(int number, const std::string& thing) {
  return absl::StrCat(number, " ", thing, number == 1 ? "" : "s");
}

// Starts, trains and reports; the steps share what they are about.
class LocalJob {
 public:
  LocalJob(const JobFile& job, const LocalClusterOptions& options,
           const Environment& env)
      : job_(job),
        options_(options),
        env_(env),
        progress_(env.err, env.err_terminal, env.clock) {
    result_.job.name = job.parsed.spec.name;
  }

  LocalJobResult Run(bool keep_folder) {
    absl::Status status = Start();
    if (status.ok()) status = Train();
    progress_.Finish();
    if (!status.ok()) Fail(status);
    if (cluster_ != nullptr) Stop(keep_folder);
    return result_;
  }

 private:
  absl::Status Start() {
    progress_.Note(absl::StrCat("starting a local cluster: 1 scheduler, ",
                                Count(options_.servers, "server"), ", ",
                                Count(options_.workers, "worker")));
    SERAPH_ASSIGN_OR_RETURN(cluster_,
                            LocalCluster::Start(options_, env_.interrupt));
    client_ = env_.connect(cluster_->scheduler_address(), kCallTimeout);
    return WaitForNodes();
  }

  // A job that begins before all nodes are there would do without them.
  absl::Status WaitForNodes() {
    const absl::Duration end = env_.clock->Now() + options_.start_timeout;
    while (true) {
      SERAPH_RETURN_IF_ERROR(Note(cluster_->ReviveKilled()));
      const absl::StatusOr<ClusterView> view = client_->DescribeCluster();
      // A scheduler that was killed is there again in a moment.
      if (!view.ok() && !absl::IsUnavailable(view.status())) {
        return view.status();
      }
      const int alive =
          !view.ok() ? 0
                     : std::count_if(view->nodes.begin(), view->nodes.end(),
                                     [](const NodeView& node) {
                                       return node.state == "ALIVE";
                                     });
      if (alive >= options_.servers + options_.workers) {
        return absl::OkStatus();
      }
      if (env_.clock->Now() >= end) {
        cluster_->KeepFolder();
        return absl::DeadlineExceededError(absl::StrCat(
            "only ", alive, " of the ", options_.servers + options_.workers,
            " nodes of the local cluster have registered; their logs are in ",
            cluster_->folder()));
      }
      if (env_.interrupt->WaitFor(kPollInterval)) {
        return absl::CancelledError("interrupted");
      }
    }
  }

  absl::Status Train() {
    const absl::StatusOr<std::string> id = Submit();
    result_.refused = id.status().code() == absl::StatusCode::kInvalidArgument;
    if (!id.ok()) return id.status();
    result_.job.id = *id;
    absl::Duration last_heard = env_.clock->Now();
    while (true) {
      const absl::Status status =
          WatchUntilEnd(client_.get(), *id, absl::ZeroDuration(),
                        *env_.interrupt,
                        [&](const JobView& job) {
                          last_heard = env_.clock->Now();
                          result_.job = job;
                          progress_.Update(job);
                          if (!HasEnded(job.state)) Revive().IgnoreError();
                        })
              .status();
      const bool silent = status.code() == absl::StatusCode::kUnavailable;
      if (!silent || env_.clock->Now() - last_heard >= kSilencePatience) {
        return status;
      }
      if (env_.interrupt->WaitFor(kPollInterval)) {
        return absl::CancelledError("interrupted");
      }
      SERAPH_RETURN_IF_ERROR(Revive());
    }
  }

  // Again, under the same name, where the scheduler died over it.
  absl::StatusOr<std::string> Submit() {
    const JobSubmission submission =
        SubmissionOf(job_, absl::StrCat("run-", absl::Hex(NewIncarnation())));
    const absl::Duration end = env_.clock->Now() + kSilencePatience;
    while (true) {
      absl::StatusOr<std::string> id = client_->SubmitJob(submission);
      if (!absl::IsUnavailable(id.status()) || env_.clock->Now() >= end ||
          env_.interrupt->WaitFor(kPollInterval)) {
        return id;
      }
      SERAPH_RETURN_IF_ERROR(Revive());
    }
  }

  // A daemon that ends before its time is no end of the job: it goes on.
  absl::Status Revive() { return Note(cluster_->Revive()); }

  absl::Status Note(const absl::StatusOr<std::vector<std::string>>& revived) {
    if (!revived.ok()) return revived.status();
    for (const std::string& note : *revived) progress_.Note(note);
    return absl::OkStatus();
  }

  // The job did not come to an end of its own.
  void Fail(const absl::Status& status) {
    if (env_.interrupt->requested()) {
      result_.interrupted = true;
      Cancel();
      return;
    }
    // A daemon that died is the better explanation.
    const absl::Status daemons =
        cluster_ == nullptr ? absl::OkStatus() : CheckAfter(status);
    result_.job.state = JobState::kFailed;
    result_.job.error =
        std::string(daemons.ok() ? status.message() : daemons.message());
  }

  // The connections of a process that dies break before its end can be seen.
  absl::Status CheckAfter(const absl::Status& failure) {
    absl::Duration patience = failure.code() == absl::StatusCode::kUnavailable
                                  ? kDeathPatience
                                  : absl::ZeroDuration();
    while (true) {
      const absl::Status status = cluster_->Check();
      if (!status.ok() || patience <= absl::ZeroDuration()) return status;
      env_.interrupt->WaitFor(kPollInterval);
      patience -= kPollInterval;
    }
  }

  void Cancel() {
    progress_.Note("interrupted: stopping; once more to stop at once");
    if (!result_.job.id.empty()) {
      const absl::StatusOr<JobView> job = client_->CancelJob(result_.job.id);
      if (job.ok()) result_.job = *job;
    }
    if (!HasEnded(result_.job.state)) {
      result_.job.state = JobState::kCancelled;
    }
  }

  void Stop(bool keep_folder) {
    if (keep_folder) {
      cluster_->KeepFolder();
      progress_.Note(absl::StrCat("the daemons' folder: ", cluster_->folder()));
    }
    // A job that failed because a daemon died names the node; how it died is
    // known here.
    if (result_.job.state == JobState::kFailed) {
      const absl::Status daemons = cluster_->Check();
      if (!daemons.ok() && daemons.message() != result_.job.error) {
        progress_.Note(std::string(daemons.message()));
      }
    }
    client_.reset();
    cluster_->Stop();
  }

  const JobFile& job_;
  const LocalClusterOptions& options_;
  const Environment& env_;
  ProgressRenderer progress_;
  std::unique_ptr<LocalCluster> cluster_;
  std::unique_ptr<SchedulerClient> client_;
  LocalJobResult result_;
};

}  // namespace

LocalJobResult RunLocally(const JobFile& job,
                          const LocalClusterOptions& options, bool keep_folder,
                          const Environment& env) {
  return LocalJob(job, options, env).Run(keep_folder);
}

}  // namespace seraph
