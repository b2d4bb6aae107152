#include "server/functions/rows_at.h"

#include <algorithm>

namespace seraph {

void RowsAt::Read(absl::Span<const Key> keys, absl::Span<float> out) const {
  if (before_ == nullptr) {
    store_.Read(keys, sums_, out);
  } else {
    store_.ReadBefore(keys, *before_, out);
  }
}

std::vector<Key> RowsAt::Keys() const {
  std::vector<Key> keys = store_.Keys(store_.range());
  if (before_ == nullptr || store_.table().kind == TableKind::kDense) {
    return keys;
  }
  const KeySpan written = before_->keys;
  size_t at = 0;
  std::erase_if(keys, [&](Key key) {
    at = written.LowerBound(at, key);
    return at < written.size() && written[at] == key &&
           before_->existed[at] == 0;
  });
  return keys;
}

bool RowsAt::Walk::Next() {
  if (left_.empty()) return false;
  block_ = cut_.BlockOf(left_.front());
  const Key last = cut_.BlockRange(block_).last;
  group_ = left_.subspan(0, kGroup);
  if (group_.back() > last) {
    const auto end = std::upper_bound(group_.begin(), group_.end(), last);
    group_ = group_.subspan(0, end - group_.begin());
  }
  values_.resize(group_.size() * rows_.width());
  rows_.Read(group_, absl::MakeSpan(values_));
  left_.remove_prefix(group_.size());
  return true;
}

void RowsAt::ForEach(absl::Span<const Key> keys, Visit visit) const {
  Walk walk = Over(keys);
  while (walk.Next()) visit(walk.block(), walk.keys(), walk.values());
}

}  // namespace seraph
