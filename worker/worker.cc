#include "worker/worker.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "common/cluster/cluster_agent.h"
#include "common/cluster/node.h"
#include "common/cluster/node_drain.h"
#include "common/cluster/node_identity.h"
#include "common/cluster/term_guard.h"
#include "common/concurrent/thread_pool.h"
#include "common/log/log.h"
#include "common/rpc/address.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/scheduler_channel.h"
#include "common/status/status_macros.h"
#include "common/version/version.h"
#include "worker/data/spool.h"
#include "worker/service/link_cache.h"
#include "worker/service/task_service.h"

namespace seraph {
namespace {

// What its ranks have done is with the servers. So a worker that stops waits
// for little: for others to take its ranks while they go on, and to see whether
// the servers stop too, which save what the jobs have with the ranks' help.
constexpr absl::Duration kPatience = absl::Seconds(2);

std::string SpoolDirectory(const ClusterConfig& config) {
  if (!config.worker.spool_directory.empty()) {
    return config.worker.spool_directory;
  }
  return std::filesystem::temp_directory_path().string();
}

}  // namespace

absl::Status RunWorker(DaemonContext* context) {
  const ClusterConfig& config = context->config();
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Spool> spool,
                          Spool::Create(SpoolDirectory(config)));
  SchedulerChannel scheduler(
      config.cluster.scheduler,
      {.max_message_bytes = config.rpc.max_message_bytes});
  const uint64_t incarnation = NewIncarnation();
  LinkCache links({.here = {.host = HostId(),
                            .unix_sockets = config.transport.unix_sockets,
                            .shared_memory = config.transport.shared_memory},
                   .incarnation = incarnation,
                   .max_message_bytes = config.rpc.max_message_bytes});
  ThreadPool pool("tasks", ThreadsOrCores(config.worker.threads));
  TermGuard terms;
  TaskService service(
      {.parts = {.incarnation = incarnation,
                 .links = &links,
                 .spool = spool.get(),
                 .scheduler = &scheduler,
                 .call_timeout = config.rpc.call_timeout,
                 .retry_backoff = config.rpc.retry_backoff,
                 .retry_backoff_max = config.rpc.retry_backoff_max,
                 .max_message_bytes = config.rpc.max_message_bytes},
       .memory_limit_bytes = config.worker.memory_limit_bytes,
       .terms = &terms},
      &pool);

  SERAPH_ASSIGN_OR_RETURN(
      std::unique_ptr<RpcServer> rpc,
      RpcServer::Start({.listen = config.worker.listen,
                        .config_key = "worker.listen",
                        .max_message_bytes = config.rpc.max_message_bytes},
                       {{v1::Tasks::service_full_name(), &service}}));
  SERAPH_ASSIGN_OR_RETURN(const std::string address,
                          AdvertisedAddress(config.worker.advertise,
                                            rpc->address(), MachineName()));
  ClusterAgent agent(
      {.cluster = config.cluster.name,
       .scheduler = config.cluster.scheduler,
       .node = {.name = address,
                .role = NodeRole::kWorker,
                .address = address,
                .incarnation = incarnation,
                .host = HostId(),
                .arithmetic = ArithmeticId(),
                .version = kVersion,
                .slots = config.worker.slots},
       .terms = &terms,
       .call_timeout = config.rpc.call_timeout,
       .retry_backoff = config.rpc.retry_backoff,
       .retry_backoff_max = config.rpc.retry_backoff_max},
      {.load =
           [&service] {
             return NodeLoad{.memory_bytes = ResidentBytes(),
                             .ranks = service.ranks()};
           },
       .on_lost = [&service] { service.LetGo(); },
       .on_other_scheduler = [&service] { service.AskSchedulerAnew(); },
       .on_connected =
           [&rpc, context](bool connected) {
             if (!context->stop()->HasBeenNotified()) rpc->SetReady(connected);
           }});
  agent.Start();
  SERAPH_RETURN_IF_ERROR(context->Ready(rpc->address()));

  context->stop()->Wait();
  rpc->SetReady(false);
  const uint32_t ranks = service.ranks();
  const absl::Status drained =
      DrainNode({.scheduler = config.cluster.scheduler,
                 .name = address,
                 .incarnation = incarnation,
                 .patience = kPatience,
                 .patience_to_save = config.server.drain_timeout,
                 .is_empty = ranks == 0,
                 .call_timeout = config.rpc.call_timeout,
                 .retry_backoff = config.rpc.retry_backoff,
                 .retry_backoff_max = config.rpc.retry_backoff_max});
  spdlog::info("worker.drained ranks={} status={}", ranks, LogValue(drained));
  if (const uint32_t cut_off = service.WindDown(kPatience); cut_off > 0) {
    spdlog::warn("worker.cut_off ranks={}", cut_off);
  }
  // The scheduler hands the ranks that are left to others as soon as it hears
  // that we leave.
  agent.Stop();
  service.Close();
  rpc->Shutdown(config.rpc.shutdown_grace);
  return absl::OkStatus();
}

}  // namespace seraph
