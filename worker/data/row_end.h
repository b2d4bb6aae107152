// The end of a row: what parsers have in common.
#ifndef SERAPH_WORKER_DATA_ROW_END_H_
#define SERAPH_WORKER_DATA_ROW_END_H_

#include "absl/status/statusor.h"
#include "worker/data/batch.h"

namespace seraph {

// Sorts the entries behind the last finished row by key (by key and field if
// there are fields) and adds the values of equal ones, in the order in which
// they were appended. Returns whether there were equal ones.
//
// Errors: InvalidArgument, naming the key, if a sum is no float any more.
absl::StatusOr<bool> SortUnfinishedRow(Batch* batch);

// Appends the label and ends the row. `group` 0: none.
void FinishRow(double label, uint64_t group, Batch* batch);

// Removes the entries behind the last finished row.
void DropUnfinishedRow(Batch* batch);

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_ROW_END_H_
