#include "server/drain.h"

#include <algorithm>

#include "common/rpc/backoff.h"
#include "common/rpc/call.h"
#include "common/rpc/scheduler_channel.h"
#include "common/status/errors.h"
#include "common/time/clock.h"
#include "proto/cluster.grpc.pb.h"

namespace seraph {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr absl::Duration kLook = absl::Milliseconds(50);

}  // namespace

absl::Status AskToDrain(const ClusterConfig& config, const std::string& name,
                        uint64_t incarnation) {
  SchedulerChannel scheduler(config.cluster.scheduler);
  Backoff backoff(config.rpc.retry_backoff, config.rpc.retry_backoff_max,
                  incarnation);
  const MonotonicClock* const clock = MonotonicClock::Real();
  const absl::Duration end = clock->Now() + kPatience;
  v1::DrainRequest request;
  request.set_name(name);
  request.set_incarnation(incarnation);
  while (true) {
    const SchedulerChannel::Target target = scheduler.Get();
    const auto stub = v1::Cluster::NewStub(target.channel);
    const absl::Duration left =
        std::max(end - clock->Now(), absl::Milliseconds(1));
    const absl::Status status =
        Call(stub->async(), &v1::Cluster::StubInterface::async_interface::Drain,
             request, {.timeout = std::min(left, config.rpc.call_timeout)})
            .status();
    const bool at_once = scheduler.Report(target, status);
    if (!IsTransient(status)) return status;
    const absl::Duration pause =
        at_once ? absl::ZeroDuration() : backoff.Next();
    if (clock->Now() + pause >= end) return status;
    Notification never;
    never.WaitFor(pause);
  }
}

bool WaitUntilDrained(const Notification& drained, absl::Duration timeout,
                      absl::AnyInvocable<bool()> connected) {
  const MonotonicClock* const clock = MonotonicClock::Real();
  const absl::Duration end = clock->Now() + timeout;
  absl::Duration last_connected = clock->Now();
  while (true) {
    const absl::Duration now = clock->Now();
    if (drained.WaitFor(std::min(kLook, end - now))) return true;
    if (connected()) last_connected = clock->Now();
    if (clock->Now() >= end || clock->Now() - last_connected > kPatience) {
      return false;
    }
  }
}

}  // namespace seraph
