#include "scheduler/run_scheduler.h"

#include <memory>
#include <utility>

#include "common/status/status_macros.h"
#include "scheduler/elected_scheduler.h"
#include "scheduler/scheduler.h"

namespace seraph {

absl::Status RunScheduler(DaemonContext* context) {
  const ClusterConfig& config = context->config();
  if (config.scheduler.store == StoreKind::kEtcd) {
    SERAPH_ASSIGN_OR_RETURN(std::shared_ptr<StateFolder> folder,
                            OpenStateFolder(config));
    return RunElectedScheduler(context, std::move(folder));
  }
  SERAPH_ASSIGN_OR_RETURN(SchedulerParts parts, OpenLocalState(config));
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Scheduler> scheduler,
                          Scheduler::Start(config, std::move(parts)));
  SERAPH_RETURN_IF_ERROR(context->Ready(scheduler->address()));
  return ServeUntilTheEnd(context, scheduler.get());
}

}  // namespace seraph
