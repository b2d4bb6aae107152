// The worker daemon: reads data, computes gradients.
#ifndef SERAPH_WORKER_WORKER_H_
#define SERAPH_WORKER_WORKER_H_

#include "absl/status/status.h"
#include "common/daemon/daemon_main.h"

namespace seraph {

// Runs ranks until the context's stop signal, then stops in good order: says
// that it is not ready, leaves the cluster, stops its ranks.
// Errors: whatever keeps it from starting.
absl::Status RunWorker(DaemonContext* context);

}  // namespace seraph

#endif  // SERAPH_WORKER_WORKER_H_
