// A call of a function, as it is sent, and as logs keep it.
#ifndef SERAPH_COMMON_FUNCTIONS_FUNCTION_CALL_H_
#define SERAPH_COMMON_FUNCTIONS_FUNCTION_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/functions/function_value.h"

namespace seraph {

struct FunctionCall {
  std::string function;
  uint32_t version = 0;  // 0: the newest that is there. Never 0 in a log.
  uint32_t column = 0;   // Of the table that it is called on.
  std::vector<FunctionValue> arguments;

  friend bool operator==(const FunctionCall&, const FunctionCall&) = default;
};

inline size_t BytesOf(const FunctionCall& call) {
  size_t bytes = sizeof(FunctionCall) + call.function.size();
  for (const FunctionValue& one : call.arguments) bytes += BytesOf(one);
  return bytes;
}

}  // namespace seraph

#endif  // SERAPH_COMMON_FUNCTIONS_FUNCTION_CALL_H_
