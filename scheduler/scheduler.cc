#include "scheduler/scheduler.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/cluster/node_identity.h"
#include "common/concurrent/notification.h"
#include "common/concurrent/periodic_task.h"
#include "common/concurrent/thread_pool.h"
#include "common/config/address.h"
#include "common/log/log.h"
#include "common/rpc/channel.h"
#include "common/rpc/rpc_server.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"
#include "scheduler/io/job_log.h"
#include "scheduler/io/state_folder.h"
#include "scheduler/service/cluster_service.h"
#include "scheduler/service/epoch_waiters.h"
#include "scheduler/service/job_service.h"
#include "scheduler/service/order_runner.h"
#include "scheduler/service/polled_stream.h"
#include "scheduler/service/scheduler_engine.h"
#include "scheduler/store/memory_state_store.h"
#include "scheduler/store/sqlite_state_store.h"

namespace seraph {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(50);
constexpr absl::Duration kLook = absl::Milliseconds(200);  // At streams.
// A signal that is for the whole cluster reaches the nodes by then.
constexpr absl::Duration kStopPatience = absl::Seconds(1);
constexpr int kFileThreads = 2;
constexpr int kTransferThreads = 4;  // Models that come and go at once.

SchedulerOptions CoreOptions(const ClusterConfig& config,
                             const SchedulerParts& parts) {
  SchedulerOptions options;
  options.keeps_state = parts.store->durable();
  options.job.lease = config.scheduler.heartbeat_timeout;
  options.job.checkpoint_directory =
      config.scheduler.checkpoint_directory.empty()
          ? parts.folder->path() + "/checkpoints"
          : config.scheduler.checkpoint_directory;
  options.heartbeat_timeout = config.scheduler.heartbeat_timeout;
  options.job.default_partitions = config.tables.partitions;
  options.job.retry.pause_max = config.rpc.retry_backoff_max;
  options.job.retry.give_up = std::max(options.job.retry.give_up,
                                       3 * config.scheduler.heartbeat_timeout);
  return options;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string StateDirectory(const ClusterConfig& config) {
  if (!config.scheduler.state_directory.empty()) {
    return config.scheduler.state_directory;
  }
  const absl::StatusOr<Address> listen = ParseAddress(config.scheduler.listen);
  return DefaultStateDirectory(config.cluster.name,
                               listen.ok() ? listen->port : 0,
                               Variable("XDG_STATE_HOME"), Variable("HOME"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<StateFolder>> OpenStateFolder(
    const ClusterConfig& config) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<StateFolder> folder,
                          StateFolder::Open(StateDirectory(config)));
  return std::shared_ptr<StateFolder>(std::move(folder));
}

absl::StatusOr<SchedulerParts> OpenLocalState(const ClusterConfig& config) {
  SchedulerParts parts;
  parts.listen = config.scheduler.listen;
  SERAPH_ASSIGN_OR_RETURN(parts.folder, OpenStateFolder(config));
  if (config.scheduler.store == StoreKind::kSqlite &&
      !parts.folder->temporary()) {
    SERAPH_ASSIGN_OR_RETURN(
        parts.store,
        SqliteStateStore::Open(parts.folder->path(), config.cluster.name));
    spdlog::info("state.opened folder={} term={}",
                 LogValue(parts.folder->path()), parts.store->term());
    return parts;
  }
  if (config.scheduler.store == StoreKind::kSqlite) {
    spdlog::warn(
        "state.temporary folder={} reason=\"no scheduler.state_directory\" "
        "next=forget_all_jobs_at_exit",
        LogValue(parts.folder->path()));
  }
  // Nodes have to tell it from the one before it.
  parts.store = std::make_unique<MemoryStateStore>(
      absl::ToUnixMillis(WallClock::Real()->Now()));
  return parts;
}

// In the order in which they need each other.
struct Scheduler::Parts {
  Parts(const ClusterConfig& c, SchedulerParts p,
        std::unique_ptr<SchedulerCore> core)
      : config(c),
        state(std::move(p.folder)),
        store(std::move(p.store)),
        engine({}, MonotonicClock::Real(), WallClock::Real(), store.get(),
               std::move(core)),
        channels({.max_message_bytes = config.rpc.max_message_bytes}),
        files("files", kFileThreads),
        transfers("transfers", kTransferThreads),
        log(state->jobs()),
        runner({.term = store->term(),
                .call_timeout = config.rpc.call_timeout,
                .rows = {.call_timeout = config.rpc.call_timeout}},
               {.channels = &channels,
                .files = &files,
                .transfers = &transfers,
                .log = &log,
                .waiters = &waiters,
                .report =
                    [this](const Event& event) {
                      engine.Handle(event, nullptr);
                    }}),
        cluster_service(
            {.cluster = config.cluster.name,
             .incarnation = NewIncarnation(),
             .term = store->term(),
             .heartbeat_interval = config.scheduler.heartbeat_interval,
             .heartbeat_timeout = config.scheduler.heartbeat_timeout,
             .spool_folder = state->spool()},
            &engine, &waiters),
        job_service({.engine = &engine,
                     .log = &log,
                     .poller = &poller,
                     .files = &files,
                     .waiters = &waiters}),
        ticks("ticks", kTick, [this] { Tick(); }),
        looks("looks", kLook, [this] { poller.Poll(); }) {
    engine.SetCarrier(&runner);
  }

  void Tick() {
    if (const absl::Status mine = store->Check(); !mine.ok()) engine.Halt(mine);
    engine.Handle(TimePassed{}, nullptr);
  }

  // Where the nodes stop too, jobs are saved and all that they hold is freed.
  void LetNodesStop() {
    if (engine.CountJobs(JobState::kRunning) == 0) return;
    const MonotonicClock* const clock = MonotonicClock::Real();
    const absl::Duration begin = clock->Now();
    const Notification never;
    bool all_stop = false;
    while (engine.halted().ok() &&
           clock->Now() - begin < config.server.drain_timeout) {
      all_stop = all_stop || engine.AllServersStop();
      if (!all_stop && clock->Now() - begin >= kStopPatience) return;
      if (all_stop && engine.CountLeaving() == 0) return;
      never.WaitFor(kTick);
    }
  }

  const ClusterConfig config;
  const std::shared_ptr<StateFolder> state;
  const std::unique_ptr<StateStore> store;
  SchedulerEngine engine;
  ChannelCache channels;
  ThreadPool files;
  ThreadPool transfers;
  JobLog log;
  EpochWaiters waiters;
  StreamPoller poller;
  OrderRunner runner;
  ClusterService cluster_service;
  JobService job_service;
  PeriodicTask ticks;
  PeriodicTask looks;
  std::unique_ptr<RpcServer> rpc;
  bool stopped = false;
};

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Start(
    const ClusterConfig& config) {
  SERAPH_ASSIGN_OR_RETURN(SchedulerParts parts, OpenLocalState(config));
  return Start(config, std::move(parts));
}

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Start(
    const ClusterConfig& config, SchedulerParts own) {
  const std::string listen = own.listen;
  SERAPH_ASSIGN_OR_RETURN(const StateRecords records, own.store->Load());
  SERAPH_ASSIGN_OR_RETURN(
      std::unique_ptr<SchedulerCore> core,
      SchedulerCore::Restore(
          CoreOptions(config, own), records,
          {MonotonicClock::Real()->Now(), WallClock::Real()->Now()}));
  auto parts = std::make_unique<Parts>(config, std::move(own), std::move(core));
  SERAPH_ASSIGN_OR_RETURN(
      parts->rpc,
      RpcServer::Start(
          {.listen = listen,
           .config_key = "scheduler.listen",
           .max_message_bytes = config.rpc.max_message_bytes},
          {{v1::Cluster::service_full_name(), &parts->cluster_service},
           {v1::Jobs::service_full_name(), &parts->job_service}}));
  for (const JobView& job : parts->engine.Jobs()) parts->log.Restore(job.id);
  parts->ticks.Start();
  parts->looks.Start();
  parts->rpc->SetReady(true);
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(parts)));
}

Scheduler::Scheduler(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Scheduler::~Scheduler() { Stop(); }

const std::string& Scheduler::address() const { return parts_->rpc->address(); }

absl::Status Scheduler::halted() const { return parts_->engine.halted(); }

void Scheduler::Stop() {
  if (std::exchange(parts_->stopped, true)) return;
  parts_->rpc->SetReady(false);
  // What is under way may be another scheduler's to order by now.
  if (!parts_->engine.halted().ok()) parts_->runner.Stop();

  if (parts_->store->durable()) {
    parts_->LetNodesStop();
  } else if (parts_->engine.halted().ok()) {
    // What nodes hold of jobs would be held for nobody.
    (void)parts_->engine.Handle(SchedulerStops{});
    const absl::Duration end =
        MonotonicClock::Real()->Now() + parts_->config.rpc.shutdown_grace;
    const Notification never;
    while (!parts_->engine.IsAllFreed() &&
           MonotonicClock::Real()->Now() < end) {
      never.WaitFor(kTick);
    }
  }

  parts_->ticks.Stop();
  parts_->looks.Stop();
  parts_->engine.Stop();  // What is decided is stored and ordered.
  const absl::Status stops = absl::UnavailableError("the scheduler stops");
  parts_->poller.Poll();  // How the jobs have ended.
  parts_->poller.Close(stops);
  parts_->waiters.Close(stops);
  parts_->rpc->Shutdown(parts_->config.rpc.shutdown_grace);
  parts_->runner.Stop();
}

absl::Status ServeUntilTheEnd(DaemonContext* context, Scheduler* scheduler) {
  while (!context->stop()->WaitFor(kTick) && scheduler->halted().ok()) {
  }
  scheduler->Stop();
  return scheduler->halted();
}

}  // namespace seraph
