// The rows of a store in the order of original keys.
#ifndef SERAPH_SERVER_STORE_ROW_CURSOR_H_
#define SERAPH_SERVER_STORE_ROW_CURSOR_H_

#include <cstddef>
#include <vector>

#include "common/base/key.h"
#include "server/update/lazy_terms.h"

namespace seraph {

class RowStore;

// Walks once over the rows that existed when it was made, ascending by ORIGINAL
// key, whatever the order of the store. Rows that are created later do not
// appear, nor do those that have gone when they are reached; rows that change
// appear as they are then.
class RowCursor {
 public:
  virtual ~RowCursor() = default;

  RowCursor(const RowCursor&) = delete;
  RowCursor& operator=(const RowCursor&) = delete;

  // The next rows, at most max_rows (> 0); `keys` is empty at the end alone.
  // keys [n] are original ones, values [n * width] those that Read gives at
  // `now`.
  void Next(size_t max_rows, const LazySums& now, std::vector<Key>* keys,
            std::vector<float>* values);

 protected:
  // `store` must outlive this.
  explicit RowCursor(const RowStore& store) : store_(store) {}

 private:
  // The next original keys, at most max_rows.
  virtual std::vector<Key> NextKeys(size_t max_rows) = 0;

  const RowStore& store_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_ROW_CURSOR_H_
