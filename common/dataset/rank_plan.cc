#include "common/dataset/rank_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/draw.h"

namespace seraph {
namespace {

uint64_t RecordsOf(const DatasetBlock& block, RecordPart part) {
  return part == RecordPart::kTrain ? block.train_records
                                    : block.validation_records;
}

// The part of `rank` in the sequence of blocks that `order` gives.
std::vector<Slice> CutShare(absl::Span<const DatasetBlock> blocks,
                            const std::vector<size_t>& order, RecordPart part,
                            uint32_t ranks, uint32_t rank) {
  uint64_t total = 0;
  for (const DatasetBlock& block : blocks) total += RecordsOf(block, part);
  const RecordRange share = RankShare(total, ranks, rank);
  std::vector<Slice> slices;
  uint64_t first = 0;  // The place of the block's first record.
  for (const size_t block : order) {
    if (first >= share.end) break;
    const uint64_t end = first + RecordsOf(blocks[block], part);
    const uint64_t from = std::max(first, share.first);
    const uint64_t to = std::min(end, share.end);
    if (from < to) slices.push_back({block, from - first, to - from});
    first = end;
  }
  return slices;
}

// Fisher and Yates, with one draw per place.
template <typename T>
void Permute(uint64_t seed, std::initializer_list<uint64_t> stream,
             std::vector<T>* values) {
  const uint64_t stream_seed = Draw(seed, stream);
  for (size_t i = values->size(); i > 1; --i) {
    std::swap((*values)[i - 1], (*values)[ToBelow(Draw(stream_seed, {i}), i)]);
  }
}

}  // namespace

RecordRange RankShare(uint64_t records, uint32_t ranks, uint32_t rank) {
  using Wide = unsigned __int128;  // rank * records may pass 2^64.
  return {static_cast<uint64_t>(Wide{records} * rank / ranks),
          static_cast<uint64_t>(Wide{records} * (rank + uint64_t{1}) / ranks)};
}

uint64_t StepsPerEpoch(uint64_t records, uint32_t ranks, uint64_t batch_size) {
  const uint64_t most = records / ranks + (records % ranks != 0);
  return most / batch_size + (most % batch_size != 0);
}

std::vector<Slice> PlanInOrder(absl::Span<const DatasetBlock> blocks,
                               RecordPart part, uint32_t ranks, uint32_t rank) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return CutShare(blocks, order, part, ranks, rank);
}

std::vector<Slice> PlanShuffled(absl::Span<const DatasetBlock> blocks,
                                uint64_t seed, uint32_t epoch, uint32_t ranks,
                                uint32_t rank) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Permute(seed, {DrawLabel("block order"), epoch}, &order);
  return CutShare(blocks, order, RecordPart::kTrain, ranks, rank);
}

std::vector<size_t> GroupSlices(absl::Span<const DatasetBlock> blocks,
                                absl::Span<const Slice> slices,
                                uint64_t group_bytes) {
  std::vector<size_t> starts;
  uint64_t bytes = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const DatasetBlock& block = blocks[slices[i].block];
    const uint64_t more = block.end - block.begin;
    if (i == 0 || bytes + more > group_bytes) {
      starts.push_back(i);
      bytes = 0;
    }
    bytes += more;
  }
  starts.push_back(slices.size());
  return starts;
}

std::vector<uint32_t> ShuffleGroup(uint64_t seed, uint32_t epoch, uint32_t rank,
                                   uint64_t group, uint32_t records) {
  std::vector<uint32_t> order(records);
  std::iota(order.begin(), order.end(), 0u);
  Permute(seed, {DrawLabel("record order"), epoch, rank, group}, &order);
  return order;
}

uint64_t BlockBytes(uint64_t stored_bytes, uint32_t ranks,
                    uint64_t configured) {
  if (configured != 0) return configured;
  return std::clamp(stored_bytes / (uint64_t{16} * ranks), uint64_t{4} << 10,
                    uint64_t{1} << 20);
}

}  // namespace seraph
