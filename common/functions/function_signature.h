// What a function is called, takes and gives.
#ifndef SERAPH_COMMON_FUNCTIONS_FUNCTION_SIGNATURE_H_
#define SERAPH_COMMON_FUNCTIONS_FUNCTION_SIGNATURE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/functions/function_value.h"

namespace seraph {

struct FunctionArgument {
  std::string name;
  ValueType type = ValueType::kInt;
  bool optional = false;  // Then all that follow are, too.

  friend bool operator==(const FunctionArgument&,
                         const FunctionArgument&) = default;
};

// How the results of a table's partitions become one. docs/functions.md.
enum class CombineRule {
  kNothing,  // A function that writes gives none.
  kSum,      // Sums of blocks, in block order: a double.
  kRoot,     // The square root of that.
  kCount,    // The sum of whole numbers: an int.
  kLeast,    // Of rows (value, key), the least ones: keys and floats.
  kLargest,  // ... the largest ones.
  kList,     // The values of all partitions, one partition after the other.
};

struct FunctionSignature {
  std::string name;
  uint32_t version = 1;
  bool writes = false;
  std::vector<FunctionArgument> arguments;
  CombineRule combine = CombineRule::kNothing;

  // The index of an argument.
  std::optional<size_t> Find(absl::string_view argument) const;

  friend bool operator==(const FunctionSignature&,
                         const FunctionSignature&) = default;
};

// "axpy(factor: double, column: int, [table: text]), version 1".
std::string ToText(const FunctionSignature& signature);

// Checks the arguments of a call; an int in the place of a double becomes one.
// Errors: InvalidArgument, with ToText, for a wrong number, a wrong type, and
// for what is not finite.
absl::Status CheckArguments(const FunctionSignature& signature,
                            std::vector<FunctionValue>* arguments);

}  // namespace seraph

#endif  // SERAPH_COMMON_FUNCTIONS_FUNCTION_SIGNATURE_H_
