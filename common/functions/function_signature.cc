#include "common/functions/function_signature.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {

std::optional<size_t> FunctionSignature::Find(
    absl::string_view argument) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == argument) return i;
  }
  return std::nullopt;
}

std::string ToText(const FunctionSignature& signature) {
  const auto argument = [](std::string* out, const FunctionArgument& one) {
    absl::StrAppend(out, one.optional ? "[" : "", one.name, ": ",
                    ValueTypeName(one.type), one.optional ? "]" : "");
  };
  return absl::StrCat(signature.name, "(",
                      absl::StrJoin(signature.arguments, ", ", argument),
                      "), version ", signature.version);
}

absl::Status CheckArguments(const FunctionSignature& signature,
                            std::vector<FunctionValue>* arguments) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(why, "; it is ", ToText(signature)));
  };
  const size_t least =
      std::count_if(signature.arguments.begin(), signature.arguments.end(),
                    [](const auto& one) { return !one.optional; });
  if (arguments->size() < least ||
      arguments->size() > signature.arguments.size()) {
    return refuse(absl::StrCat("function '", signature.name, "' got ",
                               arguments->size(), " arguments"));
  }
  for (size_t i = 0; i < arguments->size(); ++i) {
    FunctionValue& value = (*arguments)[i];
    const FunctionArgument& wanted = signature.arguments[i];
    const auto* whole = std::get_if<int64_t>(&value);
    if (whole != nullptr && wanted.type == ValueType::kDouble) {
      value = static_cast<double>(*whole);
    }
    if (TypeOf(value) != wanted.type) {
      return refuse(absl::StrCat("function '", signature.name, "', argument '",
                                 wanted.name, "' got ",
                                 ValueTypeName(TypeOf(value))));
    }
    if (!IsFinite(value)) {
      return refuse(absl::StrCat("function '", signature.name, "', argument '",
                                 wanted.name,
                                 "' got a value that is not finite"));
    }
  }
  return absl::OkStatus();
}

}  // namespace seraph
