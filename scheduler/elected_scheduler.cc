#include "scheduler/elected_scheduler.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/rpc/address.h"
#include "common/rpc/refusing_service.h"
#include "common/rpc/rpc_server.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"
#include "scheduler/scheduler.h"
#include "scheduler/store/etcd_state_store.h"

namespace seraph {
namespace {

absl::Status NotLeader(const std::string& leader) {
  if (leader.empty()) {
    return WithReason(
        absl::UnavailableError("no scheduler leads at the moment"),
        "NOT_LEADER");
  }
  return WithReason(absl::UnavailableError(absl::StrCat(
                        "the scheduler at ", leader, " leads, not this one")),
                    "NOT_LEADER", {{"leader", leader}});
}

// Waits until this scheduler leads; listens at `*listen` meanwhile, and makes
// it the address that was bound. Cancelled at the stop signal.
absl::StatusOr<std::unique_ptr<StateStore>> Follow(DaemonContext* context,
                                                   std::string* listen,
                                                   bool* ready) {
  const ClusterConfig& config = context->config();
  RefusingService refusals(NotLeader(""));
  SERAPH_ASSIGN_OR_RETURN(
      const std::unique_ptr<RpcServer> rpc,
      RpcServer::Start({.listen = *listen,
                        .config_key = "scheduler.listen",
                        .max_message_bytes = config.rpc.max_message_bytes,
                        .other_methods = &refusals},
                       {}));
  *listen = rpc->address();
  SERAPH_ASSIGN_OR_RETURN(const std::string address,
                          AdvertisedAddress(config.scheduler.advertise,
                                            rpc->address(), MachineName()));
  if (!std::exchange(*ready, true)) {
    SERAPH_RETURN_IF_ERROR(context->Ready(rpc->address()));
  }
  return EtcdStateStore::Campaign(
      {.endpoints = config.scheduler.etcd,
       .cluster = config.cluster.name,
       .address = address,
       .lease = config.scheduler.etcd_lease},
      MonotonicClock::Real(), context->stop(), [&](const std::string& leader) {
        spdlog::info("scheduler.follows leader={}", LogValue(leader));
        refusals.SetStatus(NotLeader(leader));
      });
}

// Until the stop signal, or until another one may lead: DEPOSED.
absl::Status Lead(DaemonContext* context, const std::string& listen,
                  std::shared_ptr<StateFolder> folder,
                  std::unique_ptr<StateStore> store) {
  SERAPH_ASSIGN_OR_RETURN(
      const std::unique_ptr<Scheduler> scheduler,
      Scheduler::Start(context->config(), {.folder = std::move(folder),
                                           .store = std::move(store),
                                           .listen = listen}));
  return ServeUntilTheEnd(context, scheduler.get());
}

}  // namespace

absl::Status RunElectedScheduler(DaemonContext* context,
                                 std::shared_ptr<StateFolder> folder) {
  std::string listen = context->config().scheduler.listen;
  bool ready = false;
  while (true) {
    absl::StatusOr<std::unique_ptr<StateStore>> store =
        Follow(context, &listen, &ready);
    if (absl::IsCancelled(store.status())) return absl::OkStatus();
    if (!store.ok()) return store.status();
    const absl::Status led = Lead(context, listen, folder, *std::move(store));
    if (context->stop()->HasBeenNotified()) return led;
    // Unavailable: etcd did not answer when the state was read.
    if (ReasonOf(led) != "DEPOSED" && !absl::IsUnavailable(led)) return led;
    spdlog::warn("scheduler.deposed status={} next=follow", LogValue(led));
  }
}

}  // namespace seraph
