// Jobs by what people type.
#ifndef SERAPH_CLIENT_RPC_JOB_LOOKUP_H_
#define SERAPH_CLIENT_RPC_JOB_LOOKUP_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/base/interrupt.h"
#include "client/rpc/scheduler_client.h"
#include "client/view/job_view.h"

namespace seraph {

// The job that `text` names: its id, the beginning of its id, or its name.
//
// Errors: NotFound; InvalidArgument, with the candidates, where several jobs
// have such an id or name; what the scheduler says.
absl::StatusOr<JobView> FindJob(SchedulerClient* client,
                                const std::string& text);

// The id alone, likewise.
absl::StatusOr<std::string> FindJobId(SchedulerClient* client,
                                      const std::string& text);

// Hands over the job's status at every change, and returns the last one: it
// has ended. A scheduler that cannot be reached is tried again for `patience`.
//
// Errors: Unavailable and DeadlineExceeded after that; Cancelled; NotFound.
absl::StatusOr<JobView> WatchUntilEnd(
    SchedulerClient* client, const std::string& id, absl::Duration patience,
    const Interrupt& interrupt,
    const std::function<void(const JobView&)>& on_status);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RPC_JOB_LOOKUP_H_
