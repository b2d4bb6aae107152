// The records of a rank, for its training loop.
#ifndef SERAPH_WORKER_TRAIN_BATCH_STREAM_H_
#define SERAPH_WORKER_TRAIN_BATCH_STREAM_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "worker/data/batch.h"

namespace seraph {

// Where a rank's minibatches come from. What Next gives is a function of the
// epoch, the position and n alone, so that a re-run of a clock reads the same.
//
// Threads: one at a time.
class BatchStream {
 public:
  virtual ~BatchStream() = default;

  // Goes to record `record` of the rank's records in `epoch`. One beyond the
  // last is the end.
  virtual absl::Status Open(uint32_t epoch, uint64_t record) = 0;

  // The next n records or those that are left: an empty batch at the end.
  virtual absl::Status Next(size_t n, Batch* batch) = 0;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_BATCH_STREAM_H_
