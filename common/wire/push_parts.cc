#include "common/wire/push_parts.h"

#include "absl/strings/str_cat.h"

namespace seraph {

absl::Status CheckEmptyParts(const v1::PushRequest& push) {
  const auto& numbers = push.empty_parts();
  if (numbers.size() % kNumbersPerEmptyPart != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the field 'empty_parts' has ", numbers.size(),
                     " numbers; each part has two"));
  }
  return absl::OkStatus();
}

}  // namespace seraph
