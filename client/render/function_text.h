// What a function gave, for people and programs.
#ifndef SERAPH_CLIENT_RENDER_FUNCTION_TEXT_H_
#define SERAPH_CLIENT_RENDER_FUNCTION_TEXT_H_

#include <string>

#include "client/render/documents.h"
#include "common/functions/function_call.h"
#include "common/functions/function_result.h"

namespace seraph {

// {"function": {"name", "version"}, "table", "column", "value": 1.5}, or
// "rows": [{"key", "value"}], or "values": [...] in the place of "value".
Document FunctionDocument(const FunctionCall& call,
                          const FunctionResult& result);

// The value, a table of rows, or a line for each value. Numbers print so that
// they read back to the same bits.
std::string FunctionText(const FunctionResult& result);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RENDER_FUNCTION_TEXT_H_
