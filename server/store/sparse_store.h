// The rows of a range in which keys come into being one by one.
#ifndef SERAPH_SERVER_STORE_SPARSE_STORE_H_
#define SERAPH_SERVER_STORE_SPARSE_STORE_H_

#include <memory>

#include "server/store/row_store.h"

namespace seraph {

// A hash table from key to row, and rows in slabs that never move. Its order
// shows nowhere. Lookups go in groups whose buckets and rows are prefetched,
// since waiting for memory is what they cost.
// Memory: row_cells() * 4 + 19 to 39 bytes a key, and at most one slab more.
//
// Requires: `rule` is of the table's width.
std::unique_ptr<RowStore> MakeSparseStore(
    const TableSpec& table, const KeyRange& range,
    std::unique_ptr<const UpdateRule> rule);

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_SPARSE_STORE_H_
