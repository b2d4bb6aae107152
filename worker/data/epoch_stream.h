// What one rank reads in one epoch, as minibatches.
#ifndef SERAPH_WORKER_DATA_EPOCH_STREAM_H_
#define SERAPH_WORKER_DATA_EPOCH_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/dataset/rank_plan.h"
#include "worker/data/batch.h"
#include "worker/data/block_source.h"

namespace seraph {

struct EpochStreamOptions {
  RecordPart part = RecordPart::kTrain;
  uint64_t seed = 1;
  uint32_t epoch = 0;
  uint32_t ranks = 1;
  uint32_t rank = 0;

  // Of training records: permutes the blocks by (seed, epoch), and the records
  // inside each group of blocks by (seed, epoch, rank, group). Otherwise
  // records come in the order of the files. Ignored for kValidation.
  bool shuffle = false;
};

// The records of a rank's share, in an order that follows from the options
// and the facts of the data set alone. Batches run across blocks and groups, so
// that with batches of n records batch s is records [s * n, (s + 1) * n): the
// position is a function of the clock.
//
// Memory:   the blocks of one group as records (BlockSource counts them).
// Threads:  one at a time; many streams may share a BlockSource.
class EpochStream {
 public:
  // `source` must outlive this. Requires: rank < ranks.
  EpochStream(BlockSource* source, const EpochStreamOptions& options);

  // Of this rank in this epoch.
  uint64_t records() const { return records_; }

  // The record that comes next, 0..records().
  uint64_t position() const { return position_; }

  // Goes to a record without reading what lies before its group.
  // Errors: OutOfRange beyond records().
  absl::Status Seek(uint64_t record);

  // Replaces `batch` by the next `n` records, or by those that are left.
  // Errors: as BlockSource::Load(); `batch` is then unspecified and the
  // position unchanged. Requires: n > 0.
  absl::Status NextBatch(size_t n, Batch* batch);

 private:
  // The group in memory.
  struct Group {
    size_t index = 0;
    std::vector<std::shared_ptr<const Batch>> blocks;  // One for each slice.
    std::vector<uint32_t> order;                       // Empty: as they are.
  };

  // The index of the group that has record `record` < records_.
  size_t GroupOf(uint64_t record) const;
  absl::Status LoadGroup(size_t index);
  void AppendRecord(uint64_t record, Batch* batch) const;

  BlockSource& source_;
  const EpochStreamOptions options_;
  std::vector<Slice> slices_;
  std::vector<uint64_t> slice_starts_;  // [slices + 1]: records before each.
  std::vector<size_t> group_starts_;    // [groups + 1]: first slice of each.
  uint64_t records_ = 0;
  uint64_t position_ = 0;
  std::unique_ptr<Group> group_;  // None yet, or not any more.
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_EPOCH_STREAM_H_
