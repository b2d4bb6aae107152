// What several verbs say of a job.
#ifndef SERAPH_CLIENT_VERBS_JOB_REPORTS_H_
#define SERAPH_CLIENT_VERBS_JOB_REPORTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/environment.h"
#include "client/job/job_file.h"
#include "client/rpc/scheduler_client.h"
#include "client/view/job_view.h"

namespace seraph {

// Loads a job file, and with `check_files` what it needs of this machine.
// Problems go to standard error, one line each; the error is then reported.
absl::StatusOr<JobFile> LoadJobOrReport(const std::string& path,
                                        const std::vector<std::string>& sets,
                                        bool check_files,
                                        const Environment& env);

// Follows a job to its end, with its progress on standard error, prints its
// result and returns what the exit code says of it. `job` is what is known of
// it so far. Where nobody waits any more, or no scheduler answers for as long
// as env.scheduler_patience, the document (not the table) says how it was last,
// and a word on standard error that it goes on.
absl::Status FollowJob(const GlobalOptions& options, const Environment& env,
                       SchedulerClient* client, JobView job);

// Prints the result of a job that has ended, and returns what the exit code
// says of it: OK where it succeeded.
absl::Status ReportResult(const GlobalOptions& options, const Environment& env,
                          const JobView& job);

}  // namespace seraph

#endif  // SERAPH_CLIENT_VERBS_JOB_REPORTS_H_
