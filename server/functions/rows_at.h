// The rows of a partition at one moment, for functions to read.
#ifndef SERAPH_SERVER_FUNCTIONS_ROWS_AT_H_
#define SERAPH_SERVER_FUNCTIONS_ROWS_AT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/table/partitioning.h"
#include "common/table/table_spec.h"
#include "server/store/overwritten.h"
#include "server/store/row_store.h"
#include "server/update/lazy_terms.h"

namespace seraph {

// Reads what a pull would read: lazy terms are computed into the values, and
// nothing is stored. A view: what it is made of must outlive it.
//
// Threads: any number may read, while nobody writes the store.
class RowsAt {
 public:
  // As of `sums`.
  RowsAt(const RowStore& store, const LazySums& sums)
      : store_(store), sums_(sums) {}

  // Before the step that filled `before`, as RowStore::ReadBefore: rows that it
  // created are not there.
  RowsAt(const RowStore& store, const Overwritten& before)
      : store_(store), sums_(before.sums), before_(&before) {}

  const TableSpec& table() const { return store_.table(); }
  uint32_t width() const { return store_.width(); }

  // Rows of mixed keys, ascending; missing ones read as their initial values.
  // out is [keys.size() * width()].
  void Read(absl::Span<const Key> keys, absl::Span<float> out) const;

  // All mixed keys that exist, ascending.
  std::vector<Key> Keys() const;

  // The rows of some keys in their order, in groups of at most kGroup of them,
  // each within one of the table's blocks.
  class Walk {
   public:
    // Goes to the next group. False: there is none.
    bool Next();

    uint32_t block() const { return block_; }
    absl::Span<const Key> keys() const { return group_; }
    // [keys().size() * width()], to be changed at will.
    absl::Span<float> values() { return absl::MakeSpan(values_); }

   private:
    friend class RowsAt;
    Walk(const RowsAt& rows, absl::Span<const Key> keys)
        : rows_(rows), cut_(rows.table()), left_(keys) {}

    const RowsAt& rows_;
    const Partitioning cut_;
    absl::Span<const Key> left_;
    absl::Span<const Key> group_;
    uint32_t block_ = 0;
    std::vector<float> values_;
  };

  // Over `keys` (mixed, ascending), which must outlive the walk.
  Walk Over(absl::Span<const Key> keys) const { return Walk(*this, keys); }

  // The same, group by group.
  using Visit = absl::FunctionRef<void(
      uint32_t block, absl::Span<const Key> keys, absl::Span<float> values)>;
  void ForEach(absl::Span<const Key> keys, Visit visit) const;
  // All rows that exist.
  void ForEach(Visit visit) const { ForEach(Keys(), visit); }

  static constexpr size_t kGroup = 1024;

 private:
  const RowStore& store_;
  const LazySums sums_;
  const Overwritten* const before_ = nullptr;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_FUNCTIONS_ROWS_AT_H_
