// The server daemon: holds partitions and serves them.
#ifndef SERAPH_SERVER_SERVER_H_
#define SERAPH_SERVER_SERVER_H_

#include "absl/status/status.h"
#include "common/daemon/daemon_main.h"

namespace seraph {

// Serves until the context's stop signal, then stops in good order: says that
// it is not ready, leaves the cluster, ends calls that wait.
// Errors: whatever keeps it from starting.
absl::Status RunServer(DaemonContext* context);

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVER_H_
