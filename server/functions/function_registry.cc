#include "server/functions/function_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status/status_macros.h"
#include "server/functions/built_ins.h"

namespace seraph {
namespace {

constexpr size_t kMaxName = 64;

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         absl::ascii_islower(name[0]) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
         });
}

}  // namespace

absl::Status FunctionRegistry::Add(std::shared_ptr<const Function> function) {
  const FunctionSignature& signature = function->signature();
  if (!IsName(signature.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", signature.name,
                     "' is no name of a function: small letters, digits and _, "
                     "at most ",
                     kMaxName));
  }
  if (signature.version == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("function '", signature.name, "': versions begin with 1"));
  }
  bool optional = false;
  for (const FunctionArgument& argument : signature.arguments) {
    if (!IsName(argument.name) || (optional && !argument.optional)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "function '", signature.name, "', argument '", argument.name,
          "': its name is none, or it stands behind an optional one"));
    }
    optional = argument.optional;
  }
  if (signature.writes != (signature.combine == CombineRule::kNothing)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "function '", signature.name, "': it either writes or gives a result"));
  }
  auto [it, added] = functions_[signature.name].emplace(signature.version,
                                                        std::move(function));
  if (!added) {
    return absl::AlreadyExistsError(
        absl::StrCat("function '", it->second->signature().name, "', version ",
                     it->first, ", is there already"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Function>> FunctionRegistry::Find(
    absl::string_view name, uint32_t version) const {
  const auto named = functions_.find(name);
  if (named == functions_.end()) {
    std::vector<absl::string_view> names;
    for (const auto& [one, versions] : functions_) names.push_back(one);
    return absl::NotFoundError(absl::StrCat("there is no function '", name,
                                            "' here; there are ",
                                            absl::StrJoin(names, ", ")));
  }
  const Versions& versions = named->second;
  if (version == 0) return versions.rbegin()->second;
  const auto found = versions.find(version);
  if (found != versions.end()) return found->second;
  std::vector<uint32_t> numbers;
  for (const auto& [one, function] : versions) numbers.push_back(one);
  return absl::FailedPreconditionError(
      absl::StrCat("function '", name, "' is not here in version ", version,
                   ", but in ", absl::StrJoin(numbers, ", ")));
}

absl::StatusOr<PlannedCall> FunctionRegistry::Plan(FunctionCall call,
                                                   uint32_t width) const {
  PlannedCall planned;
  SERAPH_ASSIGN_OR_RETURN(planned.function, Find(call.function, call.version));
  const FunctionSignature& signature = planned.function->signature();
  SERAPH_RETURN_IF_ERROR(CheckArguments(signature, &call.arguments));
  SERAPH_RETURN_IF_ERROR(planned.function->Check(call.arguments));
  if (call.column >= width) {
    return absl::InvalidArgumentError(
        absl::StrCat("function '", signature.name, "' on column ", call.column,
                     ": the table has columns 0 to ", width - 1));
  }
  call.version = signature.version;
  planned.call = std::move(call);
  return planned;
}

absl::StatusOr<PlannedCall> FunctionRegistry::PlanLogged(
    FunctionCall call, const TableSpec& table) const {
  SERAPH_ASSIGN_OR_RETURN(PlannedCall planned,
                          Plan(std::move(call), table.width));
  const FunctionSignature& signature = planned.function->signature();
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("function '", signature.name, "' in a log: ", why));
  };
  if (!signature.writes) return refuse("it reads, and is called by itself");
  if (!planned.function->built_in()) {
    return refuse("it is a library's: sessions may call it (ssp, asp)");
  }
  if (!planned.function->reads_other()) return planned;
  const size_t named = *signature.Find("table");
  if (planned.call.arguments.size() > named &&
      std::get<std::string>(planned.call.arguments[named]) != table.name) {
    return refuse(
        "over two tables it would depend on how far the other one's log is; "
        "sessions may call it (ssp, asp)");
  }
  const int64_t column =
      std::get<int64_t>(planned.call.arguments[*signature.Find("column")]);
  if (column < 0 || column >= int64_t{table.width}) {
    return refuse(absl::StrCat("the table has columns 0 to ", table.width - 1,
                               ", not ", column));
  }
  return planned;
}

std::vector<FunctionSignature> FunctionRegistry::List() const {
  std::vector<FunctionSignature> signatures;
  for (const auto& [name, versions] : functions_) {
    for (const auto& [version, function] : versions) {
      signatures.push_back(function->signature());
    }
  }
  return signatures;
}

const FunctionRegistry& FunctionRegistry::BuiltIns() {
  static const auto* const registry = [] {
    auto* made = new FunctionRegistry();
    for (auto& function : MakeBuiltIns()) {
      // Their names are known to be good; a test adds them all.
      made->Add(std::move(function)).IgnoreError();
    }
    return made;
  }();
  return *registry;
}

}  // namespace seraph
