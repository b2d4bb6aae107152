// A server that stops asks that others take over what it holds.
#ifndef SERAPH_SERVER_DRAIN_H_
#define SERAPH_SERVER_DRAIN_H_

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/concurrent/notification.h"
#include "common/config/cluster_config.h"

namespace seraph {

// Asks the scheduler once, or again while it cannot be reached, for at most two
// seconds. Errors: FailedPrecondition (nobody can take over), Unavailable or
// DeadlineExceeded (no scheduler answers), NotFound (it does not know us).
absl::Status AskToDrain(const ClusterConfig& config, const std::string& name,
                        uint64_t incarnation);

// Waits until `drained`, for at most `timeout`; less where no scheduler was
// there (`connected`) for two seconds on end. Returns whether it is drained.
bool WaitUntilDrained(const Notification& drained, absl::Duration timeout,
                      absl::AnyInvocable<bool()> connected);

}  // namespace seraph

#endif  // SERAPH_SERVER_DRAIN_H_
