// A function of a library that a user wrote.
#ifndef SERAPH_SERVER_FUNCTIONS_LIBRARY_FUNCTION_H_
#define SERAPH_SERVER_FUNCTIONS_LIBRARY_FUNCTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/functions/function.h"
#include "server/functions/seraph_functions.h"

namespace seraph {

// Wraps it: whatever it returns, gives or throws becomes a status that names
// it. (What it does to the process's memory is beyond help.) `definition` must
// stay valid. Errors: InvalidArgument for a definition that makes no sense.
absl::StatusOr<std::shared_ptr<const Function>> WrapLibraryFunction(
    const seraph_function& definition);

}  // namespace seraph

#endif  // SERAPH_SERVER_FUNCTIONS_LIBRARY_FUNCTION_H_
