#include "server/store/row_cursor.h"

#include <utility>

#include "common/table/partitioning.h"
#include "server/store/row_store.h"

namespace seraph {

void RowCursor::Next(size_t max_rows, const LazySums& now,
                     std::vector<Key>* keys, std::vector<float>* values) {
  *keys = NextKeys(max_rows);
  std::vector<Key> mixed;
  mixed.reserve(keys->size());
  for (const Key key : *keys) {
    mixed.push_back(ToMixedKey(store_.table(), key));
  }
  values->resize(keys->size() * store_.width());
  store_.Read(mixed, now, absl::MakeSpan(*values));
}

}  // namespace seraph
