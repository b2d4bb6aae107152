// A partition at a cut, in memory.
#ifndef SERAPH_SERVER_CORE_PARTITION_COPY_H_
#define SERAPH_SERVER_CORE_PARTITION_COPY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "common/base/clock.h"
#include "common/base/key.h"
#include "server/core/log_record.h"
#include "server/core/sightings.h"
#include "server/store/row_store.h"
#include "server/update/lazy_terms.h"

namespace seraph {

// How a rank stands in a cut.
struct RankCut {
  Clock clock;  // K: the entry that is taken next.
  // Of the ledger partition alone; as in RankProgress.
  std::vector<LedgerRecord> ledger;  // Newest first.
  std::vector<LedgerRecord> epoch_ends;

  friend bool operator==(const RankCut&, const RankCut&) = default;
};

// All of a partition at a cut that is no row. There are no pending entries: all
// entries below K are applied, none at or after it.
struct PartitionCut {
  LazySums sums;
  std::vector<RankCut> ranks;
  std::map<uint64_t, uint64_t> sessions;  // Last number of each.
  uint64_t skipped_rows = 0;
  Sightings sightings;

  friend bool operator==(const PartitionCut&, const PartitionCut&) = default;
};

struct CopiedBlock {
  size_t number = 0;
  uint64_t version = 0;      // RowStore::BlockVersion at the copy.
  std::vector<Key> keys;     // Mixed, of the store's order.
  std::vector<float> cells;  // [keys * row_cells].
};

struct PartitionCopy {
  uint32_t table = 0;
  uint32_t partition = 0;
  KeyRange range;  // Mixed.
  uint32_t row_cells = 0;
  PartitionCut cut;

  uint64_t layout = 0;   // RowStore::layout(): blocks of equal number of two
                         // copies are the same block only where it is equal.
  uint64_t version = 0;  // What changed later is of a greater version.
  size_t store_blocks = 0;
  uint64_t rows = 0;  // Of the whole store.
  // The blocks of a version above `since`; with 0, all.
  uint64_t since = 0;
  std::vector<CopiedBlock> blocks;
};

// Sets row_cells and the fields of `copy` from `layout` on. Blocks that change
// from now on have a version greater than copy->version. `sums` are the
// partition's.
void CopyRows(const LazySums& sums, uint64_t since, RowStore* store,
              PartitionCopy* copy);

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PARTITION_COPY_H_
