#include "server/store/row_cursor.h"

#include <utility>

#include "common/table/partitioning.h"
#include "server/store/row_store.h"

namespace seraph {

void RowCursor::Next(size_t max_rows, const LazySums& now,
                     std::vector<Key>* keys, std::vector<float>* values) {
  std::vector<Key> mixed;
  do {
    *keys = NextKeys(max_rows);
    mixed.clear();
    for (const Key key : *keys) {
      mixed.push_back(ToMixedKey(store_.table(), key));
    }
    if (keys->empty()) break;
    const std::vector<uint8_t> exist = store_.Exist(mixed);
    size_t n = 0;
    for (size_t i = 0; i < keys->size(); ++i) {
      if (!exist[i]) continue;
      (*keys)[n] = (*keys)[i];
      mixed[n++] = mixed[i];
    }
    keys->resize(n);
    mixed.resize(n);
  } while (keys->empty());
  values->resize(keys->size() * store_.width());
  store_.Read(mixed, now, absl::MakeSpan(*values));
}

}  // namespace seraph
