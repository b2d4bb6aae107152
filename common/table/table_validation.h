// Whether a table's specification can be run.
//
// The one place that knows the ranges: the job file's reader, the scheduler and
// the server all ask here. A check covers only the fields that the kind uses.
#ifndef SERAPH_COMMON_TABLE_TABLE_VALIDATION_H_
#define SERAPH_COMMON_TABLE_TABLE_VALIDATION_H_

#include "absl/status/status.h"
#include "common/table/table_spec.h"

namespace seraph {

// Widest row of a table, in values.
inline constexpr uint32_t kMaxTableWidth = 1u << 20;

// Each returns OK or one InvalidArgument that names every bad field.

// Among others: sgd needs learning_rate * l2 < 1 and adamw learning_rate *
// weight_decay < 1, since a step beyond that turns the sign of every weight it
// decays (no schedule's factor is above 1).
absl::Status ValidateOptimizer(const OptimizerSpec& optimizer);
absl::Status ValidateSchedule(const ScheduleSpec& schedule);
absl::Status ValidateInitializer(const InitializerSpec& initializer);

// The table's own fields and the three above.
absl::Status ValidateTable(const TableSpec& table);

}  // namespace seraph

#endif  // SERAPH_COMMON_TABLE_TABLE_VALIDATION_H_
