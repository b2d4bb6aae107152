#include "common/cluster/node_drain.h"

#include <algorithm>

#include "common/concurrent/notification.h"
#include "common/rpc/backoff.h"
#include "common/rpc/call.h"
#include "common/rpc/scheduler_channel.h"
#include "common/status/errors.h"
#include "common/time/clock.h"
#include "proto/cluster.grpc.pb.h"

namespace seraph {
namespace {

constexpr absl::Duration kSilence = absl::Seconds(2);
constexpr absl::Duration kLook = absl::Milliseconds(100);

}  // namespace

absl::Status DrainNode(const NodeDrainOptions& options) {
  SchedulerChannel scheduler(options.scheduler);
  Backoff backoff(options.retry_backoff, options.retry_backoff_max,
                  options.incarnation);
  const MonotonicClock* const clock = MonotonicClock::Real();
  const Notification never;
  v1::DrainRequest request;
  request.set_name(options.name);
  request.set_incarnation(options.incarnation);
  request.set_leaving(true);
  const absl::Duration begin = clock->Now();
  absl::Duration heard = begin;
  absl::Duration patience = options.patience;
  bool may_hold = !options.is_empty;
  while (true) {
    const SchedulerChannel::Target target = scheduler.Get();
    const auto stub = v1::Cluster::NewStub(target.channel);
    const absl::StatusOr<v1::DrainReply> reply =
        Call(stub->async(), &v1::Cluster::StubInterface::async_interface::Drain,
             request, {.timeout = std::min(options.call_timeout, kSilence)});
    const bool at_once = scheduler.Report(target, reply.status());
    absl::Duration pause = kLook;
    if (reply.ok()) {
      if (reply->drained()) return absl::OkStatus();
      may_hold = true;
      heard = clock->Now();
      backoff.Reset();
      patience = reply->all_servers_stop() ? options.patience_to_save
                                           : options.patience;
    } else if (IsTransient(reply.status()) ||
               absl::IsNotFound(reply.status())) {
      // Not found: the node is about to register again.
      if (!at_once && !may_hold) return reply.status();
      pause = at_once ? absl::ZeroDuration() : backoff.Next();
    } else {
      return reply.status();
    }
    const absl::Duration now = clock->Now();
    if (now + pause - heard > kSilence) return reply.status();
    if (now + pause - begin > patience) {
      return absl::DeadlineExceededError("something is left");
    }
    never.WaitFor(pause);
  }
}

}  // namespace seraph
