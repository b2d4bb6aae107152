// The tables of a job.
#ifndef SERAPH_COMMON_JOB_JOB_TABLES_H_
#define SERAPH_COMMON_JOB_JOB_TABLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/job/job_spec.h"
#include "common/table/table_spec.h"

namespace seraph {

// The tables that the job's model wants, ascending by name, ready to be made:
// ValidateTable() is OK for each, and `partitions` is no more than the table
// can have. A free bias has the job's optimizer without l1, l2 and
// weight_decay; only sparse tables are scrambled.
//
// `classes`: what the pass over the data found; nullopt before it, and for
// models without classes. `default_partitions`: the cluster's, >= 1.
//
// Errors: FailedPrecondition for a softmax without classes; InvalidArgument for
// classes that contradict model.classes, or a table that cannot be.
absl::StatusOr<std::vector<TableSpec>> JobTables(
    const JobSpec& job, std::optional<uint32_t> classes,
    uint32_t default_partitions);

}  // namespace seraph

#endif  // SERAPH_COMMON_JOB_JOB_TABLES_H_
