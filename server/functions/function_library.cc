#include "server/functions/function_library.h"

#include <dlfcn.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "server/functions/library_function.h"
#include "server/functions/seraph_functions.h"

namespace seraph {
namespace {

absl::Status Add(const seraph_library* library, FunctionRegistry* registry) {
  if (library == nullptr) {
    return absl::InvalidArgumentError("seraph_functions() gives nothing");
  }
  if (library->abi != SERAPH_FUNCTIONS_ABI) {
    return absl::FailedPreconditionError(
        absl::StrCat("it is built for version ", library->abi,
                     " of seraph_functions.h, and this server has version ",
                     SERAPH_FUNCTIONS_ABI, ": build it anew"));
  }
  for (size_t i = 0; i < library->function_count; ++i) {
    SERAPH_ASSIGN_OR_RETURN(std::shared_ptr<const Function> function,
                            WrapLibraryFunction(library->functions[i]));
    SERAPH_RETURN_IF_ERROR(registry->Add(std::move(function)));
  }
  return absl::OkStatus();
}

// The system's text about the last failure.
std::string LastError() {
  const char* const text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

absl::Status LoadFunctionLibrary(const std::string& path,
                                 FunctionRegistry* registry) {
  const std::string who = absl::StrCat("function library '", path, "'");
  // Never unloaded: its functions may run until the process ends.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat(who, ": ", LastError()));
  }
  void* const symbol = dlsym(handle, "seraph_functions");
  if (symbol == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        who, " does not export seraph_functions(): ", LastError()));
  }
  const auto functions = reinterpret_cast<const seraph_library* (*)()>(symbol);
  return Annotate(Add(functions(), registry), who);
}

}  // namespace seraph
