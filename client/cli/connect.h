// The way to the scheduler that the flags name.
#ifndef SERAPH_CLIENT_CLI_CONNECT_H_
#define SERAPH_CLIENT_CLI_CONNECT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/cli/environment.h"
#include "client/rpc/scheduler_client.h"

namespace seraph {

// Several addresses, of schedulers of which one leads, are separated by commas.
// Errors: kUsage for what is no address. Whether somebody answers there is
// found by the first call.
absl::StatusOr<std::unique_ptr<SchedulerClient>> Connect(
    const GlobalOptions& options, const Environment& env);

}  // namespace seraph

#endif  // SERAPH_CLIENT_CLI_CONNECT_H_
