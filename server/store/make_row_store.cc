#include "server/store/make_row_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"
#include "common/table/table_validation.h"
#include "server/store/dense_store.h"
#include "server/store/sparse_store.h"
#include "server/update/expiring_rule.h"
#include "server/update/make_update_rule.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<RowStore>> MakeRowStore(const TableSpec& table,
                                                       const KeyRange& range) {
  SERAPH_RETURN_IF_ERROR(ValidateTable(table));
  if (range.first > range.last || !Partitioning(table).Contains(range.last)) {
    return absl::OutOfRangeError(absl::StrCat("table '", table.name,
                                              "' has no range of keys ",
                                              range.first, "..", range.last));
  }
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<const UpdateRule> rule,
                          MakeUpdateRule(table.optimizer, table.width));
  if (table.expire_after_epochs > 0) rule = MakeExpiringRule(std::move(rule));
  if (table.kind == TableKind::kSparse) {
    return MakeSparseStore(table, range, std::move(rule));
  }
  return MakeDenseStore(table, range, std::move(rule));
}

}  // namespace seraph
