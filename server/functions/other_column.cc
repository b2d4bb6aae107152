#include "server/functions/other_column.h"

#include <algorithm>
#include <iterator>

#include "common/table/partitioning.h"

namespace seraph {

OtherColumn::OtherColumn(const RowsAt& rows, const FunctionInput& input,
                         uint32_t column)
    : rows_(rows),
      other_(input.other),
      column_(column),
      initial_(other_ == nullptr ? rows.table() : other_->table) {}

const std::vector<float>& OtherColumn::Of(absl::Span<const Key> keys,
                                          absl::Span<const float> values) {
  group_.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (other_ == nullptr) {
      group_[i] = values[i * rows_.width() + column_];
      continue;
    }
    while (next_ < other_->keys.size() && other_->keys[next_] < keys[i]) {
      ++next_;
    }
    const bool there =
        next_ < other_->keys.size() && other_->keys[next_] == keys[i];
    group_[i] =
        there ? other_->values[next_]
              : initial_.Value(ToOriginalKey(other_->table, keys[i]), column_);
  }
  return group_;
}

std::vector<Key> OtherColumn::KeysOfBoth() const {
  std::vector<Key> keys = rows_.Keys();
  if (other_ == nullptr) return keys;
  std::vector<Key> both;
  std::set_union(keys.begin(), keys.end(), other_->keys.begin(),
                 other_->keys.end(), std::back_inserter(both));
  return both;
}

}  // namespace seraph
