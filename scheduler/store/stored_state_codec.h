// Between what the scheduler wants to find again and the records of its store.
//
//   jobs/<id>/request, jobs/<id>/plan   once
//   jobs/<id>/state                     at every change
//   nodes                               when one comes or goes
//
// proto/stored_state.proto has their contents.
#ifndef SERAPH_SCHEDULER_STORE_STORED_STATE_CODEC_H_
#define SERAPH_SCHEDULER_STORE_STORED_STATE_CODEC_H_

#include "absl/status/statusor.h"
#include "scheduler/job/stored_job.h"
#include "scheduler/store/state_write.h"

namespace seraph {

StateWrites EncodeChanges(const StoredChanges& changes);

// Records of other keys are passed over.
// Errors: DataLoss, naming the key of a record that cannot be read or lacks
// another one.
absl::StatusOr<StoredState> DecodeState(const StateRecords& records);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_STORE_STORED_STATE_CODEC_H_
