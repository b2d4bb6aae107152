#include "common/table/partitioning.h"

#include <algorithm>
#include <bit>

#include "common/base/scramble.h"

namespace seraph {
namespace {

constexpr int kSparseBlockShift = 52;

int BlockShift(const TableSpec& table) {
  if (table.kind == TableKind::kSparse) return kSparseBlockShift;
  const uint64_t at_least =
      (table.keys - 1) / Partitioning::kMaxBlocks + 1;  // ceil(keys / 4096).
  return std::bit_width(at_least - 1);
}

}  // namespace

Key ToMixedKey(const TableSpec& table, Key key) {
  return table.scramble ? Scramble(key) : key;
}

Key ToOriginalKey(const TableSpec& table, Key mixed) {
  return table.scramble ? Unscramble(mixed) : mixed;
}

Partitioning::Partitioning(const TableSpec& table)
    : last_(table.kind == TableKind::kSparse ? kMaxKey : table.keys - 1),
      block_shift_(BlockShift(table)),
      blocks_((last_ >> block_shift_) + 1),
      partitions_(std::clamp<uint32_t>(table.partitions, 1, blocks_)) {}

uint32_t Partitioning::FirstBlock(uint32_t partition) const {
  return uint64_t{partition} * blocks_ / partitions_;
}

KeyRange Partitioning::PartitionRange(uint32_t partition) const {
  return {BlockRange(FirstBlock(partition)).first,
          BlockRange(FirstBlock(partition + 1) - 1).last};
}

KeyRange Partitioning::BlockRange(uint32_t block) const {
  const Key first = Key{block} << block_shift_;
  const Key last = first + ((Key{1} << block_shift_) - 1);
  return {first, std::min(last, last_)};
}

uint32_t Partitioning::PartitionOf(Key mixed) const {
  // The largest i with FirstBlock(i) = floor(i B / P) <= block, which is
  // i B < (block + 1) P.
  return ((uint64_t{BlockOf(mixed)} + 1) * partitions_ - 1) / blocks_;
}

}  // namespace seraph
