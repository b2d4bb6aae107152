// Which records a rank reads, and in which order: functions of the blocks and
// the job alone, so that a re-run of a clock reads the same.
#ifndef SERAPH_COMMON_DATASET_RANK_PLAN_H_
#define SERAPH_COMMON_DATASET_RANK_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/dataset/dataset_facts.h"

namespace seraph {

// The records of a block: those that train, or those that validation_fraction
// set apart. The records of a data set of its own for validation count as
// kTrain of that data set.
enum class RecordPart { kTrain, kValidation };

// Records [skip, skip + take) of a block's records of the part in question.
struct Slice {
  size_t block = 0;  // Index into the blocks.
  uint64_t skip = 0;
  uint64_t take = 0;  // > 0.

  friend bool operator==(const Slice&, const Slice&) = default;
};

// The records [first, end) of a sequence.
struct RecordRange {
  uint64_t first = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - first; }
};

// The share of rank `rank` of `ranks` in `records` records:
// [rank * records / ranks, (rank + 1) * records / ranks). Two shares differ by
// one record at most. Requires: rank < ranks.
RecordRange RankShare(uint64_t records, uint32_t ranks, uint32_t rank);

// The clocks with records of the rank that has the most: how long an epoch is.
// Requires: ranks > 0, batch_size > 0.
uint64_t StepsPerEpoch(uint64_t records, uint32_t ranks, uint64_t batch_size);

// What rank `rank` reads, in order: its share of the sequence of all blocks'
// records of `part`, in the order of the blocks.
std::vector<Slice> PlanInOrder(absl::Span<const DatasetBlock> blocks,
                               RecordPart part, uint32_t ranks, uint32_t rank);

// The same of the training records, with the blocks permuted by (seed, epoch).
// Every rank sees the same permutation, so that the ranks' shares are together
// each record exactly once.
std::vector<Slice> PlanShuffled(absl::Span<const DatasetBlock> blocks,
                                uint64_t seed, uint32_t epoch, uint32_t ranks,
                                uint32_t rank);

// Cuts a plan into groups of consecutive slices; the records of a group are in
// memory together, and are shuffled with each other. A group ends before the
// slice with which its blocks would have more than `group_bytes` bytes.
// Returns the index of each group's first slice, and slices.size() at the end.
std::vector<size_t> GroupSlices(absl::Span<const DatasetBlock> blocks,
                                absl::Span<const Slice> slices,
                                uint64_t group_bytes);

// The order of the `records` records of group `group` of a rank's plan, as
// indices: a permutation from (seed, epoch, rank, group).
std::vector<uint32_t> ShuffleGroup(uint64_t seed, uint32_t epoch, uint32_t rank,
                                   uint64_t group, uint32_t records);

// The length of blocks for files of `stored_bytes` bytes in all: `configured`
// if that is not 0, else total / (16 ranks), within 4 KiB and 1 MiB. So a small
// file still gives every rank several blocks to shuffle, and a large one does
// not give the job too many to keep.
uint64_t BlockBytes(uint64_t stored_bytes, uint32_t ranks, uint64_t configured);

}  // namespace seraph

#endif  // SERAPH_COMMON_DATASET_RANK_PLAN_H_
