// The memory that outlives a scheduler.
#ifndef SERAPH_SCHEDULER_STORE_STATE_STORE_H_
#define SERAPH_SCHEDULER_STORE_STATE_STORE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/store/state_write.h"

namespace seraph {

// Opened, it belongs to one scheduler alone: nobody else can commit as long as
// this one can.
//
// Threads: Load and Commit, which do IO and block, one at a time on any thread;
// the others at any time.
class StateStore {
 public:
  virtual ~StateStore() = default;

  // Greater than that of every scheduler that has had this store before;
  // constant, > 0.
  virtual uint64_t term() const = 0;

  // Whether a scheduler that starts again finds what was committed.
  virtual bool durable() const = 0;

  // All that is stored. Errors: as Commit; DataLoss for what cannot be read.
  virtual absl::StatusOr<StateRecords> Load() = 0;

  // Whether this scheduler may still act, as far as can be said without IO.
  // Errors: FailedPrecondition (reason DEPOSED), as Commit.
  virtual absl::Status Check() const { return absl::OkStatus(); }

  // Stores all of the writes or none; durable when it returns OK. No writes:
  // only asks whether this scheduler may still go on.
  // Errors:
  //   Unavailable, ResourceExhausted (disk full)  may work when it is repeated;
  //     all of it or nothing is stored, and a repeat changes nothing
  //   FailedPrecondition (reason DEPOSED)  another scheduler has the store: it
  //     is never again ours
  //   any other  the store is broken
  virtual absl::Status Commit(const StateWrites& writes) = 0;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_STORE_STATE_STORE_H_
