// Shared libraries with functions of users.
#ifndef SERAPH_SERVER_FUNCTIONS_FUNCTION_LIBRARY_H_
#define SERAPH_SERVER_FUNCTIONS_FUNCTION_LIBRARY_H_

#include <string>

#include "absl/status/status.h"
#include "server/functions/function_registry.h"

namespace seraph {

// Loads the library at `path` into this process, for good, and adds its
// functions. Errors, each naming the file: NotFound (it cannot be loaded, or is
// no such library), FailedPrecondition (another SERAPH_FUNCTIONS_ABI, with
// both), InvalidArgument and AlreadyExists (a function that cannot be added).
absl::Status LoadFunctionLibrary(const std::string& path,
                                 FunctionRegistry* registry);

}  // namespace seraph

#endif  // SERAPH_SERVER_FUNCTIONS_FUNCTION_LIBRARY_H_
