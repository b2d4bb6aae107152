// The rows of a range in which keys come into being one by one.
#ifndef SERAPH_SERVER_STORE_SPARSE_STORE_H_
#define SERAPH_SERVER_STORE_SPARSE_STORE_H_

#include <memory>

#include "server/store/row_store.h"

namespace seraph {

// Rows in the order of their mixed keys, in segments (segment.h): the keys of a
// push ascend, so its rows are met in the order of memory. Where keys are
// spread evenly, as those of a scrambled table are, one is found in a cache
// line or two; of whatever keys, in the logarithm of a segment.
//
// Segments grow by pages, in place, and one that is too large becomes two:
// there is no moment at which all rows move, and none at which there are two
// copies of them. Memory: at most 1.35 * (8 + row_cells() * 4) bytes a key,
// from some thousand keys on.
//
// Requires: `rule` is of the table's width.
std::unique_ptr<RowStore> MakeSparseStore(
    const TableSpec& table, const KeyRange& range,
    std::unique_ptr<const UpdateRule> rule);

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_SPARSE_STORE_H_
