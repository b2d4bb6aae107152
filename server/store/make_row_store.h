// From a table's specification to the store of one of its partitions.
#ifndef SERAPH_SERVER_STORE_MAKE_ROW_STORE_H_
#define SERAPH_SERVER_STORE_MAKE_ROW_STORE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/key.h"
#include "common/table/table_spec.h"
#include "server/store/row_store.h"

namespace seraph {

// A store of the rows of `range` (mixed keys) of `table`, dense or sparse as
// the table is; in a dense one every row has its initial value.
//
// Errors: as ValidateTable; OutOfRange for a range that is not of the table;
// ResourceExhausted when a dense range does not fit into memory.
absl::StatusOr<std::unique_ptr<RowStore>> MakeRowStore(const TableSpec& table,
                                                       const KeyRange& range);

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_MAKE_ROW_STORE_H_
