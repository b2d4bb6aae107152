#include "common/cluster/cluster_agent.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/notification.h"
#include "common/concurrent/thread_name.h"
#include "common/log/log.h"
#include "common/rpc/backoff.h"
#include "common/rpc/call.h"
#include "common/rpc/channel.h"
#include "common/rpc/scheduler_channel.h"
#include "common/time/clock.h"
#include "common/wire/cluster_codec.h"
#include "proto/cluster.grpc.pb.h"

namespace seraph {
namespace {

using Async = v1::Cluster::StubInterface::async_interface;

constexpr absl::Duration kLeaveTimeout = absl::Seconds(1);
// Where the scheduler names no interval that makes sense.
constexpr absl::Duration kMinInterval = absl::Milliseconds(10);

}  // namespace

// Everything but Start and Stop runs on the agent's thread.
struct ClusterAgent::Impl {
  Impl(ClusterAgentOptions agent_options, ClusterAgentCallbacks agent_callbacks)
      : options(std::move(agent_options)),
        callbacks(std::move(agent_callbacks)),
        scheduler(options.scheduler),
        backoff(options.retry_backoff, options.retry_backoff_max,
                options.node.incarnation) {}

  void Run();
  // One attempt each; they set when to make the next.
  void Register();
  void Heartbeat();
  void Leave();

  void SetConnected(bool connected);
  void LogOnce(const absl::Status& status);
  void HearTerm(uint64_t heard);

  // A call that Stop cuts short.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> CallScheduler(
      void (Async::*method)(grpc::ClientContext*, const Request*, Reply*,
                            std::function<void(grpc::Status)>),
      const std::type_identity_t<Request>& request, absl::Duration timeout);

  const ClusterAgentOptions options;
  ClusterAgentCallbacks callbacks;
  SchedulerChannel scheduler;
  const MonotonicClock* const clock = MonotonicClock::Real();

  Backoff backoff;
  absl::Duration due;  // When to register, or the next heartbeat.
  bool registered = false;
  bool connected = false;
  bool try_at_once = false;  // After a call that failed: elsewhere.
  // Of the scheduler that we are registered with.
  uint64_t scheduler_incarnation = 0;
  uint64_t term = 0;
  absl::Duration interval = absl::Seconds(1);
  absl::Duration heartbeat_timeout = absl::Seconds(5);
  std::string last_logged;  // So that a state that lasts is logged once.

  Notification stopping;
  Mutex mu;
  StartedCall call ABSL_GUARDED_BY(mu);  // The one under way.

  std::thread thread;
};

ClusterAgent::ClusterAgent(ClusterAgentOptions options,
                           ClusterAgentCallbacks callbacks)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(callbacks))) {}

ClusterAgent::~ClusterAgent() { Stop(); }

void ClusterAgent::Start() {
  impl_->thread = std::thread([this] { impl_->Run(); });
}

void ClusterAgent::Stop() {
  impl_->stopping.Notify();
  StartedCall under_way;
  {
    MutexLock lock(&impl_->mu);
    under_way = impl_->call;
  }
  under_way.Cancel();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void ClusterAgent::Impl::Run() {
  NameThisThread("cluster-agent");
  due = clock->Now();
  while (!stopping.WaitFor(due - clock->Now())) {
    if (registered) {
      Heartbeat();
    } else {
      Register();
    }
  }
  if (registered) Leave();
}

template <typename Request, typename Reply>
absl::StatusOr<Reply> ClusterAgent::Impl::CallScheduler(
    void (Async::*method)(grpc::ClientContext*, const Request*, Reply*,
                          std::function<void(grpc::Status)>),
    const std::type_identity_t<Request>& request, absl::Duration timeout) {
  const SchedulerChannel::Target target = scheduler.Get();
  // gRPC's own pause between attempts to connect must not add to ours.
  if (!connected) ReconnectNow(target.channel.get());
  const auto stub = v1::Cluster::NewStub(target.channel);

  absl::StatusOr<Reply> result;
  Notification ended;
  const StartedCall started =
      StartCall(stub->async(), method, request, {.timeout = timeout},
                [&](absl::StatusOr<Reply> reply) {
                  result = std::move(reply);
                  ended.Notify();
                });
  {
    MutexLock lock(&mu);
    call = started;
  }
  // Stop may have come before there was a call to cancel.
  if (stopping.HasBeenNotified()) started.Cancel();
  ended.Wait();
  try_at_once = scheduler.Report(target, result.status());
  return result;
}

void ClusterAgent::Impl::Register() {
  v1::RegisterRequest request;
  request.set_cluster(options.cluster);
  ToProto(options.node, request.mutable_node());
  if (options.terms != nullptr) request.set_term(options.terms->highest());
  if (callbacks.held) {
    for (const HeldPartition& held : callbacks.held()) {
      v1::HeldPartition* message = request.add_held();
      message->mutable_job()->set_id(held.job);
      message->mutable_job()->set_generation(held.generation);
      message->set_table(held.table);
      message->set_partition(held.partition);
      message->set_epoch(held.epoch);
    }
  }
  const absl::StatusOr<v1::RegisterReply> reply =
      CallScheduler(&Async::Register, request, options.call_timeout);
  if (!reply.ok()) {
    LogOnce(reply.status());
    due = clock->Now();
    if (!try_at_once) due += backoff.Next();
    return;
  }
  backoff.Reset();
  registered = true;
  interval = std::max(kMinInterval,
                      absl::Milliseconds(reply->heartbeat_interval_ms()));
  heartbeat_timeout =
      std::max(interval, absl::Milliseconds(reply->heartbeat_timeout_ms()));
  const uint64_t before =
      std::exchange(scheduler_incarnation, reply->scheduler_incarnation());
  term = reply->term();
  HearTerm(term);
  if (before != 0 && before != scheduler_incarnation &&
      callbacks.on_other_scheduler) {
    callbacks.on_other_scheduler();
  }
  spdlog::info("scheduler.registered address={} incarnation={:016x} term={}",
               scheduler.Get().address, scheduler_incarnation, term);
  due = clock->Now() + interval;
  SetConnected(true);
}

void ClusterAgent::Impl::Heartbeat() {
  v1::HeartbeatRequest request;
  request.set_name(options.node.name);
  request.set_incarnation(options.node.incarnation);
  const NodeLoad load = callbacks.load ? callbacks.load() : NodeLoad();
  request.mutable_load()->set_memory_bytes(load.memory_bytes);
  request.mutable_load()->set_partitions(load.partitions);
  request.mutable_load()->set_rows(load.rows);
  request.mutable_load()->set_ranks(load.ranks);
  if (callbacks.silent_peers) {
    for (const uint64_t peer : callbacks.silent_peers()) {
      request.add_silent_peers(peer);
    }
  }
  // A lost heartbeat must not cost the time of all that may follow it.
  const absl::StatusOr<v1::HeartbeatReply> reply =
      CallScheduler(&Async::Heartbeat, request,
                    std::min(options.call_timeout, heartbeat_timeout / 2));
  if (stopping.HasBeenNotified()) return;
  // From the start of this one, so that a slow answer moves no heartbeat.
  due = std::max(due + interval, clock->Now());
  if (reply.ok()) {
    HearTerm(reply->term());
    if (reply->scheduler_incarnation() != scheduler_incarnation ||
        reply->term() != term) {
      // It has to hear what we have seen and hold.
      spdlog::info(
          "scheduler.changed incarnation={:016x} term={} next=register",
          reply->scheduler_incarnation(), reply->term());
      registered = false;
      due = clock->Now();
      return;
    }
    if (!connected) {
      spdlog::info("scheduler.reachable address={}", scheduler.Get().address);
    }
    SetConnected(true);
    return;
  }
  if (absl::IsNotFound(reply.status())) {
    spdlog::warn("scheduler.lost status={} next=register",
                 LogValue(reply.status()));
    registered = false;
    due = clock->Now();
    SetConnected(false);
    if (callbacks.on_lost) callbacks.on_lost();
    return;
  }
  if (try_at_once) due = clock->Now();
  SetConnected(false);
  LogOnce(reply.status());
}

void ClusterAgent::Impl::Leave() {
  v1::LeaveRequest request;
  request.set_name(options.node.name);
  request.set_incarnation(options.node.incarnation);
  const auto stub = v1::Cluster::NewStub(scheduler.Get().channel);
  const auto reply =
      Call(stub->async(), &Async::Leave, request, {.timeout = kLeaveTimeout});
  if (reply.ok()) {
    spdlog::info("scheduler.left address={}", scheduler.Get().address);
  } else {
    spdlog::warn("scheduler.leave_failed status={} next=stop_anyway",
                 LogValue(reply.status()));
  }
}

void ClusterAgent::Impl::SetConnected(bool now) {
  if (now) last_logged.clear();
  if (std::exchange(connected, now) != now && callbacks.on_connected) {
    callbacks.on_connected(now);
  }
}

void ClusterAgent::Impl::HearTerm(uint64_t heard) {
  if (options.terms != nullptr) options.terms->Heard(heard);
}

void ClusterAgent::Impl::LogOnce(const absl::Status& status) {
  if (stopping.HasBeenNotified()) return;
  const absl::string_view event =
      absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)
          ? "scheduler.unreachable"
          : "scheduler.refused";
  // The message may have details that change; the code says what it is.
  const std::string what =
      absl::StrCat(event, absl::StatusCodeToString(status.code()));
  if (std::exchange(last_logged, what) == what) return;
  spdlog::warn("{} address={} status={} next=retry", event, options.scheduler,
               LogValue(status));
}

}  // namespace seraph
