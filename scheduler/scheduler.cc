#include "scheduler/scheduler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/cluster/node_identity.h"
#include "common/concurrent/notification.h"
#include "common/concurrent/periodic_task.h"
#include "common/concurrent/thread_pool.h"
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

namespace seraph {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(50);
constexpr absl::Duration kLook = absl::Milliseconds(200);  // At streams.
constexpr int kFileThreads = 2;
constexpr int kTransferThreads = 4;  // Models that come and go at once.

SchedulerOptions CoreOptions(const ClusterConfig& config) {
  SchedulerOptions options;
  options.heartbeat_timeout = config.scheduler.heartbeat_timeout;
  options.job.default_partitions = config.tables.partitions;
  options.job.retry.pause_max = config.rpc.retry_backoff_max;
  options.job.retry.give_up = std::max(options.job.retry.give_up,
                                       3 * config.scheduler.heartbeat_timeout);
  return options;
}

}  // namespace

// In the order in which they need each other.
struct Scheduler::Parts {
  Parts(const ClusterConfig& c, std::unique_ptr<StateFolder> s)
      : config(c),
        state(std::move(s)),
        engine(CoreOptions(config), MonotonicClock::Real(), WallClock::Real()),
        channels({.max_message_bytes = config.rpc.max_message_bytes}),
        files("files", kFileThreads),
        transfers("transfers", kTransferThreads),
        log(state->jobs()),
        runner(
            {.call_timeout = config.rpc.call_timeout,
             .rows = {.call_timeout = config.rpc.call_timeout}},
            {.channels = &channels,
             .files = &files,
             .transfers = &transfers,
             .log = &log,
             .waiters = &waiters,
             .report =
                 [this](const Event& event) { (void)engine.Handle(event); }}),
        cluster_service(
            {.cluster = config.cluster.name,
             .incarnation = NewIncarnation(),
             .heartbeat_interval = config.scheduler.heartbeat_interval,
             .heartbeat_timeout = config.scheduler.heartbeat_timeout,
             .spool_folder = state->spool()},
            &engine, &waiters),
        job_service({.engine = &engine,
                     .log = &log,
                     .poller = &poller,
                     .files = &files}),
        ticks("ticks", kTick, [this] { (void)engine.Handle(TimePassed{}); }),
        looks("looks", kLook, [this] { poller.Poll(); }) {
    engine.SetCarrier(&runner);
  }

  const ClusterConfig config;
  const std::unique_ptr<StateFolder> state;
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
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<StateFolder> state,
                          StateFolder::Open(config.scheduler.state_directory));
  auto parts = std::make_unique<Parts>(config, std::move(state));
  SERAPH_ASSIGN_OR_RETURN(
      parts->rpc,
      RpcServer::Start(
          {.listen = config.scheduler.listen,
           .config_key = "scheduler.listen",
           .max_message_bytes = config.rpc.max_message_bytes},
          {{v1::Cluster::service_full_name(), &parts->cluster_service},
           {v1::Jobs::service_full_name(), &parts->job_service}}));
  parts->ticks.Start();
  parts->looks.Start();
  parts->rpc->SetReady(true);
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(parts)));
}

Scheduler::Scheduler(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Scheduler::~Scheduler() { Stop(); }

const std::string& Scheduler::address() const { return parts_->rpc->address(); }

void Scheduler::Stop() {
  if (std::exchange(parts_->stopped, true)) return;
  parts_->rpc->SetReady(false);

  // What nodes hold of jobs would be held for nobody.
  (void)parts_->engine.Handle(SchedulerStops{});
  const absl::Duration end =
      MonotonicClock::Real()->Now() + parts_->config.rpc.shutdown_grace;
  const Notification never;
  while (!parts_->engine.IsAllFreed() && MonotonicClock::Real()->Now() < end) {
    never.WaitFor(kTick);
  }

  const absl::Status stops = absl::UnavailableError("the scheduler stops");
  parts_->poller.Poll();  // How the jobs have ended.
  parts_->poller.Close(stops);
  parts_->waiters.Close(stops);
  parts_->rpc->Shutdown(parts_->config.rpc.shutdown_grace);
  parts_->ticks.Stop();
  parts_->looks.Stop();
  parts_->runner.Stop();
}

absl::Status RunScheduler(DaemonContext* context) {
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Scheduler> scheduler,
                          Scheduler::Start(context->config()));
  SERAPH_RETURN_IF_ERROR(context->Ready(scheduler->address()));
  context->stop()->Wait();
  scheduler->Stop();
  return absl::OkStatus();
}

}  // namespace seraph
