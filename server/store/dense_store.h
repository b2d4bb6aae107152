// The rows of a range in which every key exists.
#ifndef SERAPH_SERVER_STORE_DENSE_STORE_H_
#define SERAPH_SERVER_STORE_DENSE_STORE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/store/row_store.h"

namespace seraph {

// One array, rows by key. Memory: row_cells() * 4 bytes a key; where all
// initial bytes are zero, the operating system gives it page by page as rows
// are written.
//
// Requires: `rule` is of the table's width; `range` has no key that is not of
// the table.
// Errors: ResourceExhausted when the array does not fit into memory.
absl::StatusOr<std::unique_ptr<RowStore>> MakeDenseStore(
    const TableSpec& table, const KeyRange& range,
    std::unique_ptr<const UpdateRule> rule);

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_DENSE_STORE_H_
