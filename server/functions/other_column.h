// The second column of a function over two.
#ifndef SERAPH_SERVER_FUNCTIONS_OTHER_COLUMN_H_
#define SERAPH_SERVER_FUNCTIONS_OTHER_COLUMN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/table/initializer.h"
#include "server/functions/function.h"

namespace seraph {

// Gives the other column's value for keys that are asked for ascending. Keys
// that the other table lacks have their initial value there.
class OtherColumn {
 public:
  // `column` as the function's argument says. Both must outlive this.
  OtherColumn(const RowsAt& rows, const FunctionInput& input, uint32_t column);

  // [keys.size()], of a group that RowsAt::ForEach visits.
  const std::vector<float>& Of(absl::Span<const Key> keys,
                               absl::Span<const float> values);

  // All keys of either table, ascending.
  std::vector<Key> KeysOfBoth() const;

 private:
  const RowsAt& rows_;
  const ColumnCopy* const other_;
  const uint32_t column_;
  const Initializer initial_;
  size_t next_ = 0;
  std::vector<float> group_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_FUNCTIONS_OTHER_COLUMN_H_
