// The run's record: result.json beside the model.
#ifndef SERAPH_SCHEDULER_IO_JOB_RECORD_H_
#define SERAPH_SCHEDULER_IO_JOB_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "scheduler/job/job_view.h"

namespace seraph {

// The JSON document that docs/job-reference.md describes. Numbers that are not
// finite, which JSON does not have, are null.
std::string JobRecordJson(const JobView& view);

// Errors: as AtomicFile, with the path.
absl::Status WriteJobRecord(const std::string& path, const JobView& view);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_IO_JOB_RECORD_H_
