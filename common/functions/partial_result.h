// What a function gives for one partition, and for all of them.
#ifndef SERAPH_COMMON_FUNCTIONS_PARTIAL_RESULT_H_
#define SERAPH_COMMON_FUNCTIONS_PARTIAL_RESULT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/functions/function_signature.h"
#include "common/functions/function_value.h"

namespace seraph {

// Of one of the table's fixed blocks (common/table/partitioning.h).
struct BlockSum {
  uint32_t block = 0;
  double sum = 0.0;

  friend bool operator==(const BlockSum&, const BlockSum&) = default;
};

struct KeyedValue {
  Key key = 0;  // Original.
  float value = 0.0f;

  friend bool operator==(const KeyedValue&, const KeyedValue&) = default;
};

// Of one partition. Which fields count is the signature's CombineRule.
struct PartialResult {
  std::vector<BlockSum> sums;  // kSum, kRoot: ascending by block.
  int64_t count = 0;  // kCount; kLeast, kLargest: how many rows are wanted.
  std::vector<KeyedValue> rows;       // kLeast, kLargest: the first `count`.
  std::vector<FunctionValue> values;  // kList.

  friend bool operator==(const PartialResult&, const PartialResult&) = default;
};

// Whether a row comes before another one among the least, or largest, ones:
// by value, and of equal ones by key. (0 and -0 are equal.)
bool IsLess(const KeyedValue& a, const KeyedValue& b);
bool IsLarger(const KeyedValue& a, const KeyedValue& b);

// The result of a table: [double] for kSum and kRoot, [int] for kCount, [keys,
// floats] for kLeast and kLargest, whatever the function gives for kList, and
// [] for kNothing. `parts`: of all partitions, in their order. The bits depend
// neither on how many there are nor on where they lie.
//
// Errors: Internal where the parts cannot be those of one table.
absl::StatusOr<std::vector<FunctionValue>> CombineParts(
    CombineRule rule, absl::Span<const PartialResult> parts);

}  // namespace seraph

#endif  // SERAPH_COMMON_FUNCTIONS_PARTIAL_RESULT_H_
