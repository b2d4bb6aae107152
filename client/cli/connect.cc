#include "client/cli/connect.h"

#include "absl/strings/str_cat.h"
#include "client/base/exit_code.h"
#include "common/config/address.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<SchedulerClient>> Connect(
    const GlobalOptions& options, const Environment& env) {
  const absl::StatusOr<Address> address = ParseAddress(options.scheduler);
  if (!address.ok()) {
    return InputError(absl::InvalidArgumentError(absl::StrCat(
        "--scheduler, or SERAPH_SCHEDULER: ", address.status().message())));
  }
  return env.connect(options.scheduler, options.timeout);
}

}  // namespace seraph
