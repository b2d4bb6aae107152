#include "server/store/row_store.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace seraph {

absl::Status RowStore::CheckKeys(absl::Span<const Key> keys) const {
  if (keys.empty()) return absl::OkStatus();
  for (size_t i = 1; i < keys.size(); ++i) {
    if (keys[i - 1] >= keys[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("keys do not strictly increase: ", keys[i - 1],
                       " stands before ", keys[i]));
    }
  }
  for (const Key key : {keys.front(), keys.back()}) {
    if (!range_.Contains(key)) {
      return absl::OutOfRangeError(
          absl::StrCat("key ", key, " is not in the range ", range_.first, "..",
                       range_.last));
    }
  }
  return absl::OkStatus();
}

void RowStore::ReadBefore(absl::Span<const Key> keys,
                          const Overwritten& overwritten,
                          absl::Span<float> out) const {
  const size_t row = width();
  if (keys == absl::MakeConstSpan(overwritten.keys)) {
    std::copy(overwritten.values.begin(), overwritten.values.end(),
              out.begin());
    return;
  }
  Read(keys, overwritten.sums, out);
  auto old = overwritten.keys.begin();
  for (size_t i = 0; i < keys.size(); ++i) {
    old = std::lower_bound(old, overwritten.keys.end(), keys[i]);
    if (old == overwritten.keys.end()) return;
    if (*old != keys[i]) continue;
    const size_t index = old - overwritten.keys.begin();
    std::copy_n(overwritten.values.begin() + index * row, row,
                out.begin() + i * row);
  }
}

absl::Status RowStore::Load(absl::Span<const Key> keys,
                            absl::Span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("the value of key ", keys[i / width()], ", column ",
                       i % width(), ", is not finite"));
    }
  }
  LoadFinite(keys, values);
  return absl::OkStatus();
}

}  // namespace seraph
