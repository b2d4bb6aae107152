// One of several schedulers: leads, or waits until it does.
#ifndef SERAPH_SCHEDULER_ELECTED_SCHEDULER_H_
#define SERAPH_SCHEDULER_ELECTED_SCHEDULER_H_

#include <memory>

#include "absl/status/status.h"
#include "common/daemon/daemon_main.h"
#include "scheduler/io/state_folder.h"

namespace seraph {

// With scheduler.store etcd: is ready as soon as it listens; refuses all calls
// with reason NOT_LEADER while another one leads; leads; and waits again when
// another one may lead, until the context's stop signal.
//
// Errors: whatever keeps it from listening, or from reading what is stored; and
// why it has halted, unless that is because another one leads.
absl::Status RunElectedScheduler(DaemonContext* context,
                                 std::shared_ptr<StateFolder> folder);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_ELECTED_SCHEDULER_H_
