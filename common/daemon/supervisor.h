// What a daemon owes to whoever started it.
#ifndef SERAPH_COMMON_DAEMON_SUPERVISOR_H_
#define SERAPH_COMMON_DAEMON_SUPERVISOR_H_

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace seraph {

// Tells systemd "READY=1" or "STOPPING=1", by the datagram of sd_notify(3) to
// the socket that `socket` names, as in $NOTIFY_SOCKET: a path, or "@name" in
// the abstract namespace.
// Errors: Unavailable. A daemon goes on without it.
absl::Status NotifySupervisor(const char* socket, absl::string_view state);

// Sends SIGTERM to this process when its parent's thread that started it ends.
// Errors: FailedPrecondition if the parent is not `parent`: it has ended
// already.
absl::Status EndWithParent(pid_t parent);

// Lets this process open as many files as its hard limit allows.
void RaiseDescriptorLimit();

}  // namespace seraph

#endif  // SERAPH_COMMON_DAEMON_SUPERVISOR_H_
