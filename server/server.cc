#include "server/server.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/cluster/cluster_agent.h"
#include "common/cluster/nearest_address.h"
#include "common/cluster/node.h"
#include "common/cluster/node_drain.h"
#include "common/cluster/node_identity.h"
#include "common/cluster/term_guard.h"
#include "common/concurrent/periodic_task.h"
#include "common/concurrent/thread_pool.h"
#include "common/daemon/heap.h"
#include "common/daemon/idle_watch.h"
#include "common/io/posix_blob_folder.h"
#include "common/log/log.h"
#include "common/rpc/address.h"
#include "common/rpc/rpc_server.h"
#include "common/shm/shared_room.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/version/version.h"
#include "server/checkpoint/paced_folder.h"
#include "server/checkpoint/write_pace.h"
#include "server/functions/function_library.h"
#include "server/functions/function_registry.h"
#include "server/service/checkpoint_files.h"
#include "server/service/function_calls.h"
#include "server/service/job_directory.h"
#include "server/service/open_streams.h"
#include "server/service/parameter_calls.h"
#include "server/service/parameter_service.h"
#include "server/service/peer_links.h"
#include "server/service/replica_calls.h"
#include "server/service/replica_service.h"

namespace seraph {
namespace {

// How often partitions and links are asked whether a time of theirs has come.
constexpr absl::Duration kTick = absl::Milliseconds(20);
// They wait for disks most of the time.
constexpr int kFileThreads = 2;
// Of a processor that the partitions want too they get some hundredths:
// training goes on at its pace while a checkpoint is written.
constexpr int kFileNice = 14;
// A server that uses less of a processor than this for so long is at rest.
constexpr absl::Duration kRest = absl::Seconds(2);
constexpr double kRestShare = 0.05;
// Of server.memory_limit, for what is no table and no admitted request: memory
// that clients and other servers share with this one; and, for each heap, and
// each stream, what is kept, or not read yet.
constexpr uint64_t kSharedPart = 4;
constexpr uint64_t kStreamPart = 512;
constexpr uint64_t kHeapPart = 64;
constexpr uint64_t kMostHeapBytes = uint64_t{128} << 20;
// Of server.memory_limit, a heap.
constexpr uint64_t kBytesOfHeap = uint64_t{64} << 20;
constexpr int kLeastHeaps = 2;
// Where no more than this part of it is left, what heaps keep is given back, if
// it is that much, and not again for a while.
constexpr uint64_t kReservePart = 4;
constexpr uint64_t kFreedPart = 16;
constexpr absl::Duration kReturnPause = absl::Milliseconds(100);
// For each other server: messages that wait for their replicas.
constexpr uint64_t kPeerPart = 16;
constexpr uint64_t kMostPeerBytes = uint64_t{64} << 20;
// How often refusals are told, at most.
constexpr absl::Duration kBusyReports = absl::Seconds(5);

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

// Says that requests were refused, and how many.
class BusyReport {
 public:
  explicit BusyReport(const Admission& admission) : admission_(admission) {}

  void Tick(absl::Duration now) {
    const uint64_t refusals = admission_.refusals();
    if (refusals == told_ || now < next_) return;
    spdlog::warn(
        "server.busy refused={} held_bytes={} limit_bytes={} "
        "next=clients_try_again",
        refusals - told_, admission_.held_bytes(), admission_.limit_bytes());
    told_ = refusals;
    next_ = now + kBusyReports;
  }

 private:
  const Admission& admission_;
  uint64_t told_ = 0;
  absl::Duration next_;
};

// Gives what is held to others, or has the jobs saved where there are none, as
// far as the time and a scheduler are there.
void Drain(const ClusterConfig& config, const std::string& name,
           const JobDirectory& jobs) {
  const size_t held = jobs.Held().size();
  const absl::Duration patience = config.server.drain_timeout;
  if (patience <= absl::ZeroDuration()) return;
  spdlog::info("server.draining replicas={}", held);
  const absl::Status drained =
      DrainNode({.scheduler = config.cluster.scheduler,
                 .name = name,
                 .incarnation = jobs.incarnation(),
                 .patience = patience,
                 .patience_to_save = patience,
                 .is_empty = held == 0,
                 .call_timeout = config.rpc.call_timeout,
                 .retry_backoff = config.rpc.retry_backoff,
                 .retry_backoff_max = config.rpc.retry_backoff_max});
  if (drained.ok()) {
    spdlog::info("server.drained");
  } else if (held > 0 || !jobs.Held().empty()) {
    spdlog::warn("server.not_drained replicas={} status={} next=leave",
                 jobs.Held().size(), LogValue(drained));
  }
}

}  // namespace

absl::Status RunServer(DaemonContext* context) {
  const ClusterConfig& config = context->config();
  const uint64_t limit = config.server.memory_limit_bytes;
  KeepFreedMemory(std::min(limit / kHeapPart, kMostHeapBytes),
                  std::max<int>(kLeastHeaps, limit / kBytesOfHeap));
  const uint64_t incarnation = NewIncarnation();
  const Neighbourhood here{.host = HostId(),
                           .unix_sockets = config.transport.unix_sockets,
                           .shared_memory = config.transport.shared_memory};
  TermGuard terms;
  OpenStreams streams;
  SharedRoom room(limit / kSharedPart);
  SharedRoom* const shared = here.shared_memory ? &room : nullptr;

  // Functions may run until the partitions are gone.
  FunctionRegistry functions = FunctionRegistry::WithBuiltIns();
  for (const std::string& path : config.server.functions) {
    SERAPH_RETURN_IF_ERROR(
        Annotate(LoadFunctionLibrary(path, &functions), "server.functions"));
    spdlog::info("server.functions path={} functions={}", path,
                 functions.List().size());
  }

  // What goes first is declared last: see JobDirectoryParts. The links outlive
  // the partitions, which send to them, but tell them nothing once stopped.
  JobDirectory* told = nullptr;
  PeerLinks links(
      {.channel = {.max_message_bytes = config.rpc.max_message_bytes},
       .here = here,
       .incarnation = incarnation,
       .retry_backoff = config.rpc.retry_backoff,
       .retry_backoff_max = config.rpc.retry_backoff_max},
      MonotonicClock::Real(),
      [&told](uint64_t peer) { told->OnLinkBroken(peer); });
  ThreadPool pool("partitions", ThreadsOrCores(config.server.threads));
  WritePace pace(config.server.checkpoint_rate_bytes, MonotonicClock::Real(),
                 [&pool] { return pool.busy(); });
  CheckpointFiles files([&pace](const std::string& path) {
    return std::make_unique<PacedFolder>(
        std::make_unique<PosixBlobFolder>(path), &pace);
  });
  JobDirectoryOptions options;
  options.incarnation = incarnation;
  options.memory_limit_bytes = limit;
  options.inflight_limit_bytes = config.server.inflight_limit_bytes;
  options.noop = config.server.noop;
  if (options.noop) {
    spdlog::warn("server.noop next=answer_without_work");
  }
  std::optional<ThreadPool> file_pool(std::in_place, "files", kFileThreads,
                                      kFileNice);
  JobDirectory jobs({.executor = &pool,
                     .files = &*file_pool,
                     .clock = MonotonicClock::Real(),
                     .peers = &links},
                    options);
  told = &jobs;
  ParameterCalls calls(&jobs);
  FunctionCalls function_calls(&jobs, &functions);
  ReplicaCalls orders(&jobs, &terms, &files, &*file_pool);
  ParameterService parameters(&jobs, &calls, &function_calls, &orders, &streams,
                              shared);
  ReplicaService replicas(&orders, &streams, shared,
                          std::min(limit / kPeerPart, kMostPeerBytes));

  SERAPH_ASSIGN_OR_RETURN(
      std::unique_ptr<RpcServer> rpc,
      RpcServer::Start(
          {.listen = config.server.listen,
           .config_key = "server.listen",
           .local_incarnation = here.unix_sockets ? incarnation : 0,
           .max_message_bytes = config.rpc.max_message_bytes,
           .window_bytes = limit / kStreamPart},
          {{v1::Parameters::service_full_name(), &parameters},
           {v1::Replicas::service_full_name(), &replicas}}));
  SERAPH_ASSIGN_OR_RETURN(const std::string address,
                          AdvertisedAddress(config.server.advertise,
                                            rpc->address(), MachineName()));
  BusyReport busy(jobs.admission());
  IdleWatch rest(kRest, kRestShare);
  absl::Duration next_return;
  PeriodicTask tick("server-tick", kTick, [&] {
    const absl::Duration now = MonotonicClock::Real()->Now();
    links.Tick();
    jobs.Tick();
    busy.Tick(now);
    calls.Tick(now);
    // What it keeps for the next messages is worth more to others then.
    if (rest.Tick(now, ProcessorTime())) ReturnFreedMemory();
    if (now >= next_return && ResidentBytes() > limit - limit / kReservePart) {
      if (FreedBytes() > limit / kFreedPart) ReturnSomeFreedMemory();
      next_return = MonotonicClock::Real()->Now() + kReturnPause;
    }
  });
  tick.Start();
  ClusterAgent agent({.cluster = config.cluster.name,
                      .scheduler = config.cluster.scheduler,
                      .node = {.name = address,
                               .role = NodeRole::kServer,
                               .address = address,
                               .incarnation = incarnation,
                               .host = here.host,
                               .arithmetic = ArithmeticId(),
                               .version = kVersion},
                      .terms = &terms,
                      .call_timeout = config.rpc.call_timeout,
                      .retry_backoff = config.rpc.retry_backoff,
                      .retry_backoff_max = config.rpc.retry_backoff_max},
                     {.load = [&jobs] { return LoadOf(jobs); },
                      .held = [&jobs] { return jobs.Held(); },
                      .silent_peers = [&jobs] { return jobs.SilentPeers(); },
                      .on_connected =
                          [&](bool now) {
                            if (!context->stop()->HasBeenNotified())
                              rpc->SetReady(now);
                          }});
  agent.Start();
  SERAPH_RETURN_IF_ERROR(context->Ready(rpc->address()));

  context->stop()->Wait();
  rpc->SetReady(false);
  pace.Stop();
  Drain(config, address, jobs);
  agent.Stop();
  streams.EndAll();
  rpc->Shutdown(config.rpc.shutdown_grace);
  tick.Stop();
  links.Stop();
  jobs.Stop();
  file_pool.reset();
  return absl::OkStatus();
}

}  // namespace seraph
