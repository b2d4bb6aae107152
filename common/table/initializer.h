// The values that a row has before its first update.
#ifndef SERAPH_COMMON_TABLE_INITIALIZER_H_
#define SERAPH_COMMON_TABLE_INITIALIZER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/table/table_spec.h"

namespace seraph {

// A pure function of (initializer, seed, table's name, original key, column):
// a row is the same whoever creates it, where, when and beside which others.
//
//   zero      0
//   constant  mean
//   uniform   mean + scale * (2 u - 1), u uniform in [0, 1)
//   normal    mean + scale * x, x standard normal
class Initializer {
 public:
  // Uses the table's name, seed and initializer.
  explicit Initializer(const TableSpec& table);

  float Value(Key original, uint32_t column) const;

  // Column j of `row` becomes Value(original, j).
  void Fill(Key original, absl::Span<float> row) const;

  // Whether every value is +0, so that fresh memory is a row.
  bool IsZero() const;

 private:
  InitializerSpec spec_;
  uint64_t seed_;
  uint64_t label_;  // Of the table's name.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_TABLE_INITIALIZER_H_
