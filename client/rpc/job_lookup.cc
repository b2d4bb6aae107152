#include "client/rpc/job_lookup.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"

namespace seraph {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(200);

bool IsOutOfReach(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kDeadlineExceeded;
}

}  // namespace

absl::StatusOr<JobView> FindJob(SchedulerClient* client,
                                const std::string& text) {
  if (text.empty()) return absl::InvalidArgumentError("the job's id is empty");
  absl::StatusOr<JobView> job = client->GetJob(text);
  if (job.ok() || job.status().code() != absl::StatusCode::kNotFound) {
    return job;
  }
  SERAPH_ASSIGN_OR_RETURN(std::vector<JobView> jobs, client->ListJobs());
  std::vector<JobView> found;
  for (JobView& candidate : jobs) {
    if (candidate.name == text || absl::StartsWith(candidate.id, text)) {
      found.push_back(std::move(candidate));
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no job '", text, "' at ", client->address(),
                     "; 'seraphctl jobs' lists those that are there"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' may be any of ", found.size(), " jobs: ",
      absl::StrJoin(found, ", ",
                    [](std::string* out, const JobView& candidate) {
                      absl::StrAppend(out, candidate.id, " (", candidate.name,
                                      ")");
                    }),
      "; give more of the id"));
}

absl::StatusOr<std::string> FindJobId(SchedulerClient* client,
                                      const std::string& text) {
  SERAPH_ASSIGN_OR_RETURN(const JobView job, FindJob(client, text));
  return job.id;
}

absl::StatusOr<JobView> WatchUntilEnd(
    SchedulerClient* client, const std::string& id, absl::Duration patience,
    const Interrupt& interrupt,
    const std::function<void(const JobView&)>& on_status) {
  const MonotonicClock& clock = *MonotonicClock::Real();
  absl::Duration last_heard = clock.Now();
  JobView last;
  while (true) {
    const absl::Status status = client->WatchJob(id, [&](const JobView& job) {
      last_heard = clock.Now();
      last = job;
      on_status(job);
    });
    if (HasEnded(last.state)) return last;
    const bool again = status.ok() || IsOutOfReach(status);
    if (!again || clock.Now() - last_heard >= patience) {
      return status.ok() ? absl::UnavailableError(absl::StrCat(
                               "the scheduler at ", client->address(),
                               " says nothing more of job ", id))
                         : status;
    }
    if (interrupt.WaitFor(kRetryPause)) {
      return absl::CancelledError("interrupted");
    }
  }
}

}  // namespace seraph
