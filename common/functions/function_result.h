// What a call of a function gives.
#ifndef SERAPH_COMMON_FUNCTIONS_FUNCTION_RESULT_H_
#define SERAPH_COMMON_FUNCTIONS_FUNCTION_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/functions/function_signature.h"
#include "common/functions/function_value.h"

namespace seraph {

struct FunctionResult {
  std::string table;     // That it was called on.
  uint32_t version = 0;  // Of the function that ran.
  CombineRule combine = CombineRule::kNothing;
  std::vector<FunctionValue> values;  // As CombineParts gives them.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_FUNCTIONS_FUNCTION_RESULT_H_
