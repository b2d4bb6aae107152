// Arguments and results of functions that run at the servers.
#ifndef SERAPH_COMMON_FUNCTIONS_FUNCTION_VALUE_H_
#define SERAPH_COMMON_FUNCTIONS_FUNCTION_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/key.h"

namespace seraph {

// In the order of ValueType. Keys are original ones.
using FunctionValue = std::variant<int64_t, double, std::string,
                                   std::vector<Key>, std::vector<float>>;

enum class ValueType { kInt, kDouble, kText, kKeys, kFloats };

inline ValueType TypeOf(const FunctionValue& value) {
  return static_cast<ValueType>(value.index());
}

// "int", "double", "text", "keys", "floats".
absl::string_view ValueTypeName(ValueType type);

// Whether there is neither an infinity nor a NaN in it.
bool IsFinite(const FunctionValue& value);

// What the value takes in memory, in bytes.
size_t BytesOf(const FunctionValue& value);

// A value as it is typed: "7" is an int, "0.5" and "1e-3" are doubles,
// "keys:1,2,3" and "floats:0.5,2" are lists, "text:7" and whatever is nothing
// of these is a text. Errors: InvalidArgument for a list that is none, and for
// an int beyond 64 bits.
absl::StatusOr<FunctionValue> ParseFunctionValue(absl::string_view text);

}  // namespace seraph

#endif  // SERAPH_COMMON_FUNCTIONS_FUNCTION_VALUE_H_
