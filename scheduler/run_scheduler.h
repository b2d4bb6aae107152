// What the scheduler's process does.
#ifndef SERAPH_SCHEDULER_RUN_SCHEDULER_H_
#define SERAPH_SCHEDULER_RUN_SCHEDULER_H_

#include "absl/status/status.h"
#include "common/daemon/daemon_main.h"

namespace seraph {

// Serves until the context's stop signal, then stops in good order.
// Errors: as OpenLocalState and Scheduler::Start, or as RunElectedScheduler;
// and why it has halted.
absl::Status RunScheduler(DaemonContext* context);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_RUN_SCHEDULER_H_
