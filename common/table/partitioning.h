// How a table's key space is cut: blocks, and partitions made of blocks.
//
// Mixed keys: a `scramble` table is cut, ordered on the wire and stored by
// Scramble(key); any other by the key itself. "Mixed key" names that key of
// either. Requests, partitions and stores use mixed keys throughout; users,
// initial values, exports and model files see original keys only.
//
// Blocks are fixed pieces of the mixed key space, at most 4,096 a table, and do
// not depend on the number of partitions: what is summed over keys is summed
// block by block, so that its bits do not depend on it either. A partition is a
// run of whole blocks; there is none without a block.
#ifndef SERAPH_COMMON_TABLE_PARTITIONING_H_
#define SERAPH_COMMON_TABLE_PARTITIONING_H_

#include <cstdint>

#include "common/base/key.h"
#include "common/table/table_spec.h"

namespace seraph {

// The key that orders and places `key`, and back.
Key ToMixedKey(const TableSpec& table, Key key);
Key ToOriginalKey(const TableSpec& table, Key mixed);

// A value, cheap to copy; a pure function of kind, keys and partitions.
class Partitioning {
 public:
  static constexpr uint32_t kMaxBlocks = 4096;

  // Requires: ValidateTable(table) is OK. More partitions than blocks are as
  // many as blocks.
  explicit Partitioning(const TableSpec& table);

  // Partitions of the table, in 1..blocks().
  uint32_t partitions() const { return partitions_; }

  // Blocks of the table, in 1..kMaxBlocks: the most partitions it can have.
  // dense: of a power of two of keys, the least one >= keys / 4096; sparse:
  // 4,096 of 2^52 keys.
  uint32_t blocks() const { return blocks_; }

  // The mixed keys of a partition or block: all of its range, without gaps.
  // Requires: partition < partitions(), block < blocks().
  KeyRange PartitionRange(uint32_t partition) const;
  KeyRange BlockRange(uint32_t block) const;

  // Where a mixed key lies. Requires: Contains(mixed).
  uint32_t PartitionOf(Key mixed) const;
  uint32_t BlockOf(Key mixed) const { return mixed >> block_shift_; }

  // Whether the table can have the key at all.
  bool Contains(Key mixed) const { return mixed <= last_; }

 private:
  uint32_t FirstBlock(uint32_t partition) const;

  Key last_;  // The largest mixed key of the table.
  int block_shift_;
  uint32_t blocks_;
  uint32_t partitions_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_TABLE_PARTITIONING_H_
