// The files that a job reads and the folder that it writes to.
#ifndef SERAPH_SCHEDULER_IO_JOB_FILES_H_
#define SERAPH_SCHEDULER_IO_JOB_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/job/job_plan.h"
#include "scheduler/job/order.h"

namespace seraph {

// Whether all that the job reads is there and may be read: its data files and
// the model that it starts from. Reads nothing but names and heads.
//
// Errors: InvalidArgument with a line for each problem, after its key:
// "data.train: cannot read '/data/x': No such file or directory".
absl::Status CheckInputs(const JobRequest& request);

// The job's data files, once and for all.
// Errors: as CheckInputs.
absl::StatusOr<ResolvedFiles> ResolveInputs(const JobRequest& request);

// Creates the output folder, and proves by a file of its own, which it removes,
// that it can be written to and is not full; and that nothing is in the place
// of the model that the model could not replace.
// Errors: FailedPrecondition, naming the folder, the system's reason and what
// to do.
absl::Status ProveOutput(const JobRequest& request, const std::string& job_id);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_IO_JOB_FILES_H_
