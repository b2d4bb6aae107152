#include "client/cli/connect.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/exit_code.h"
#include "common/config/address.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<SchedulerClient>> Connect(
    const GlobalOptions& options, const Environment& env) {
  for (const absl::string_view one : absl::StrSplit(options.scheduler, ',')) {
    const absl::StatusOr<Address> address = ParseAddress(one);
    if (!address.ok()) {
      return InputError(absl::InvalidArgumentError(absl::StrCat(
          "--scheduler, or SERAPH_SCHEDULER: ", address.status().message())));
    }
  }
  return env.connect(options.scheduler, options.timeout);
}

}  // namespace seraph
