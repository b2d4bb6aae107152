#include "common/functions/partial_result.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

absl::StatusOr<double> SumOf(absl::Span<const PartialResult> parts) {
  double sum = 0.0;
  std::optional<uint32_t> last;
  for (const PartialResult& part : parts) {
    for (const BlockSum& block : part.sums) {
      if (last.has_value() && block.block <= *last) {
        return absl::InternalError(
            absl::StrCat("block ", block.block, " comes after block ", *last));
      }
      last = block.block;
      sum += block.sum;
    }
  }
  return sum;
}

std::vector<FunctionValue> FirstRows(absl::Span<const PartialResult> parts,
                                     bool (*before)(const KeyedValue&,
                                                    const KeyedValue&)) {
  std::vector<KeyedValue> rows;
  size_t wanted = 0;
  for (const PartialResult& part : parts) {
    rows.insert(rows.end(), part.rows.begin(), part.rows.end());
    wanted = std::max<size_t>(wanted, std::max<int64_t>(0, part.count));
  }
  std::sort(rows.begin(), rows.end(), before);
  if (rows.size() > wanted) rows.resize(wanted);
  std::vector<Key> keys;
  std::vector<float> values;
  for (const KeyedValue& row : rows) {
    keys.push_back(row.key);
    values.push_back(row.value);
  }
  return {std::move(keys), std::move(values)};
}

}  // namespace

bool IsLess(const KeyedValue& a, const KeyedValue& b) {
  return a.value != b.value ? a.value < b.value : a.key < b.key;
}

bool IsLarger(const KeyedValue& a, const KeyedValue& b) {
  return a.value != b.value ? a.value > b.value : a.key < b.key;
}

absl::StatusOr<std::vector<FunctionValue>> CombineParts(
    CombineRule rule, absl::Span<const PartialResult> parts) {
  switch (rule) {
    case CombineRule::kNothing:
      return std::vector<FunctionValue>();
    case CombineRule::kSum:
    case CombineRule::kRoot: {
      const absl::StatusOr<double> sum = SumOf(parts);
      if (!sum.ok()) return sum.status();
      return std::vector<FunctionValue>{
          rule == CombineRule::kRoot ? std::sqrt(*sum) : *sum};
    }
    case CombineRule::kCount: {
      int64_t count = 0;
      for (const PartialResult& part : parts) count += part.count;
      return std::vector<FunctionValue>{count};
    }
    case CombineRule::kLeast:
      return FirstRows(parts, IsLess);
    case CombineRule::kLargest:
      return FirstRows(parts, IsLarger);
    case CombineRule::kList: {
      std::vector<FunctionValue> values;
      for (const PartialResult& part : parts) {
        values.insert(values.end(), part.values.begin(), part.values.end());
      }
      return values;
    }
  }
  return absl::InternalError("a rule that is not known");
}

}  // namespace seraph
