#include "client/cli/environment.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace seraph {

std::string Environment::Variable(const std::string& name) const {
  const std::string start = absl::StrCat(name, "=");
  for (const std::string& variable : variables) {
    if (absl::StartsWith(variable, start)) {
      return variable.substr(start.size());
    }
  }
  return "";
}

}  // namespace seraph
