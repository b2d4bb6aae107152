// Writes as bytes.
#ifndef SERAPH_SCHEDULER_STORE_STATE_BATCH_H_
#define SERAPH_SCHEDULER_STORE_STATE_BATCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scheduler/store/state_write.h"

namespace seraph {

// For each write: the key's length and the key; then 0, or 1, the value's
// length and the value. Lengths have 8 bytes, little-endian.
std::string SerializeBatch(const StateWrites& writes);

// Errors: DataLoss.
absl::StatusOr<StateWrites> ParseBatch(absl::string_view bytes);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_STORE_STATE_BATCH_H_
