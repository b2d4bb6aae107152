#include "client/verbs/job_reports.h"

#include "absl/strings/str_cat.h"
#include "client/base/exit_code.h"
#include "client/cli/output.h"
#include "client/render/documents.h"
#include "client/render/job_text.h"
#include "client/render/progress_renderer.h"
#include "client/rpc/job_lookup.h"
#include "common/status/status_macros.h"

namespace seraph {

absl::StatusOr<JobFile> LoadJobOrReport(const std::string& path,
                                        const std::vector<std::string>& sets,
                                        bool check_files,
                                        const Environment& env) {
  absl::StatusOr<JobFile> job = LoadJobFile(path, sets);
  absl::Status status = job.status();
  if (status.ok() && check_files) status = CheckFilesOf(*job);
  if (status.ok()) return job;
  if (status.code() != absl::StatusCode::kInvalidArgument) {
    return InputError(status);
  }
  *env.err << status.message() << std::endl;
  return Reported(ExitCode::kUsage);
}

absl::Status FollowJob(const GlobalOptions& options, const Environment& env,
                       SchedulerClient* client, JobView job) {
  ProgressRenderer progress(env.err, env.err_terminal, env.clock);
  const std::string id = job.id;
  const absl::Status end =
      WatchUntilEnd(client, id, env.scheduler_patience, *env.interrupt,
                    [&](const JobView& status) {
                      job = status;
                      progress.Update(status);
                    })
          .status();
  progress.Finish();
  if (end.ok()) return ReportResult(options, env, job);
  if (options.output != OutputFormat::kTable) {
    SERAPH_RETURN_IF_ERROR(PrintResult(options, env, JobDocument(job), ""));
  }
  if (!absl::IsCancelled(end)) return CallError(end);
  *env.err << "the job goes on; 'seraphctl watch " << id
           << "' follows it again, 'seraphctl cancel " << id << "' ends it"
           << std::endl;
  return Reported(ExitCode::kInterrupted);
}

absl::Status ReportResult(const GlobalOptions& options, const Environment& env,
                          const JobView& job) {
  SERAPH_RETURN_IF_ERROR(
      PrintResult(options, env, JobDocument(job), ResultText(job)));
  if (job.state == JobState::kSucceeded) return absl::OkStatus();
  // The table has said it already.
  if (options.output != OutputFormat::kTable) {
    *env.err << "seraphctl: job '" << job.name << "' "
             << (job.state == JobState::kCancelled ? "was cancelled" : "failed")
             << (job.error.empty() ? "" : ": ") << job.error << std::endl;
  }
  return Reported(ExitCode::kFailed);
}

}  // namespace seraph
