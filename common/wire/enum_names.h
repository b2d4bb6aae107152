// The names by which enumerations travel: stable, whatever the order of the
// enumerators.
#ifndef SERAPH_COMMON_WIRE_ENUM_NAMES_H_
#define SERAPH_COMMON_WIRE_ENUM_NAMES_H_

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace seraph {

template <typename Enum, size_t n>
using EnumNames = std::array<std::pair<Enum, absl::string_view>, n>;

// Requires: `value` is in `names`.
template <typename Enum, size_t n>
absl::string_view NameOf(const EnumNames<Enum, n>& names, Enum value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "";
}

// Errors: InvalidArgument naming `field` for a name that is not in `names`.
template <typename Enum, size_t n>
absl::StatusOr<Enum> EnumOf(const EnumNames<Enum, n>& names,
                            absl::string_view field, absl::string_view name) {
  for (const auto& [value, known] : names) {
    if (known == name) return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": unknown value '", name, "'"));
}

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_ENUM_NAMES_H_
