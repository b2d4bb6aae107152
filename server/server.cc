#include "server/server.h"

#include <memory>
#include <string>
#include <utility>

#include "common/cluster/cluster_agent.h"
#include "common/cluster/node.h"
#include "common/cluster/node_identity.h"
#include "common/concurrent/thread_pool.h"
#include "common/rpc/address.h"
#include "common/rpc/rpc_server.h"
#include "common/status/status_macros.h"
#include "common/version/version.h"
#include "server/service/job_directory.h"
#include "server/service/parameter_calls.h"
#include "server/service/parameter_service.h"

namespace seraph {
namespace {

NodeLoad LoadOf(const JobDirectory& jobs) {
  NodeLoad load;
  load.memory_bytes = ResidentBytes();
  for (const auto& job : jobs.All()) {
    for (const auto& [place, actor] : job->partitions) {
      ++load.partitions;
      load.rows += actor->gauges().rows;
    }
  }
  return load;
}

}  // namespace

absl::Status RunServer(DaemonContext* context) {
  const ClusterConfig& config = context->config();
  ThreadPool pool("partitions", ThreadsOrCores(config.server.threads));
  JobDirectory jobs(&pool, config.server.memory_limit_bytes);
  const uint64_t incarnation = NewIncarnation();
  ParameterCalls calls(&jobs, incarnation);
  ParameterService service(incarnation, &jobs, &calls);

  SERAPH_ASSIGN_OR_RETURN(
      std::unique_ptr<RpcServer> rpc,
      RpcServer::Start({.listen = config.server.listen,
                        .config_key = "server.listen",
                        .max_message_bytes = config.rpc.max_message_bytes},
                       {{v1::Parameters::service_full_name(), &service}}));
  SERAPH_ASSIGN_OR_RETURN(const std::string address,
                          AdvertisedAddress(config.server.advertise,
                                            rpc->address(), MachineName()));
  ClusterAgent agent(
      {.cluster = config.cluster.name,
       .scheduler = config.cluster.scheduler,
       .node = {.name = address,
                .role = NodeRole::kServer,
                .address = address,
                .incarnation = incarnation,
                .host = HostId(),
                .arithmetic = ArithmeticId(),
                .version = kVersion},
       .call_timeout = config.rpc.call_timeout,
       .retry_backoff = config.rpc.retry_backoff,
       .retry_backoff_max = config.rpc.retry_backoff_max},
      {.load = [&jobs] { return LoadOf(jobs); },
       .on_lost = [&jobs] { jobs.DropAll(); },
       .on_connected = [&rpc](bool connected) { rpc->SetReady(connected); }});
  agent.Start();
  SERAPH_RETURN_IF_ERROR(context->Ready(rpc->address()));

  context->stop()->Wait();
  rpc->SetReady(false);
  agent.Stop();
  rpc->Shutdown(config.rpc.shutdown_grace);
  return absl::OkStatus();
}

}  // namespace seraph
