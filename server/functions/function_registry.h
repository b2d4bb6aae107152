// The functions that a server knows.
#ifndef SERAPH_SERVER_FUNCTIONS_FUNCTION_REGISTRY_H_
#define SERAPH_SERVER_FUNCTIONS_FUNCTION_REGISTRY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/functions/function_call.h"
#include "common/functions/function_signature.h"
#include "server/functions/function.h"

namespace seraph {

// By name and version. Filled once, then immutable.
class FunctionRegistry {
 public:
  FunctionRegistry() = default;

  // Errors: AlreadyExists for a name and version that is there;
  // InvalidArgument for a name that is none ([a-z][a-z0-9_]*, at most 64
  // characters), version 0, and for arguments that are not named so, or
  // optional before others that are not.
  absl::Status Add(std::shared_ptr<const Function> function);

  // Version 0 is the newest one. Errors: NotFound, with the names that there
  // are; FailedPrecondition, with its versions, for another version.
  absl::StatusOr<std::shared_ptr<const Function>> Find(absl::string_view name,
                                                       uint32_t version) const;

  // Finds the function, and checks the arguments and the column.
  // Errors: as Find; InvalidArgument.
  absl::StatusOr<PlannedCall> Plan(FunctionCall call, uint32_t width) const;

  // A call that stands in a partition's log, where every replica runs it by
  // itself. Errors: as Plan; InvalidArgument for a function that reads, that
  // is not built in, or that is called over two tables.
  absl::StatusOr<PlannedCall> PlanLogged(FunctionCall call,
                                         const TableSpec& table) const;

  // By name and version.
  std::vector<FunctionSignature> List() const;

  // Those that come with the server: docs/functions.md.
  static const FunctionRegistry& BuiltIns();
  // A copy, to add others to.
  static FunctionRegistry WithBuiltIns() { return BuiltIns(); }

 private:
  using Versions = std::map<uint32_t, std::shared_ptr<const Function>>;
  std::map<std::string, Versions, std::less<>> functions_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_FUNCTIONS_FUNCTION_REGISTRY_H_
