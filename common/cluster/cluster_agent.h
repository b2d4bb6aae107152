// What a server and a worker share towards the scheduler.
//
// A thread and a connection of its own, so that heartbeats go out whatever else
// the daemon does: register, heartbeat, register again when the scheduler does
// not know us any more or is another one, leave.
#ifndef SERAPH_COMMON_CLUSTER_CLUSTER_AGENT_H_
#define SERAPH_COMMON_CLUSTER_CLUSTER_AGENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/cluster/held_partition.h"
#include "common/cluster/node.h"
#include "common/cluster/term_guard.h"

namespace seraph {

struct ClusterAgentOptions {
  std::string cluster;  // Its name.
  // Where the scheduler listens, or several do: "host:port[,host:port...]".
  std::string scheduler;
  Node node;  // This daemon.

  // The daemon's, which hears of the terms of schedulers that answer, and from
  // which they are told the highest. Must outlive the agent. May be null.
  TermGuard* terms = nullptr;

  absl::Duration call_timeout = absl::Seconds(10);

  // Pauses between attempts to register: jittered, doubling.
  absl::Duration retry_backoff = absl::Milliseconds(20);
  absl::Duration retry_backoff_max = absl::Seconds(2);
};

// All run on the agent's thread, one at a time, and none after Stop returns.
// They must be quick: heartbeats wait for them. What is not set is not called.
struct ClusterAgentCallbacks {
  // What the next heartbeat says.
  absl::AnyInvocable<NodeLoad()> load;

  // What this daemon holds, for a scheduler that it registers with.
  absl::AnyInvocable<std::vector<HeldPartition>()> held;

  // Incarnations of servers that have not confirmed something for a lease.
  absl::AnyInvocable<std::vector<uint64_t>()> silent_peers;

  // The scheduler does not know this incarnation: it was declared dead, or
  // another scheduler has started. Nothing is to be dropped for it: what was
  // given away is ordered to be dropped. The agent registers again, as the same
  // incarnation.
  absl::AnyInvocable<void()> on_lost;

  // Another scheduler has taken us in than the one before: what was asked of
  // that one is not answered any more.
  absl::AnyInvocable<void()> on_other_scheduler;

  // Whether the scheduler knows us and answers; called at each change, first
  // with true. False is no reason to stop work: training goes on while no
  // scheduler is there.
  absl::AnyInvocable<void(bool connected)> on_connected;
};

// Logs each change once: scheduler.registered, scheduler.unreachable,
// scheduler.refused, scheduler.lost, scheduler.changed.
//
// Threads: Start and Stop belong to the owner's thread.
class ClusterAgent {
 public:
  ClusterAgent(ClusterAgentOptions options, ClusterAgentCallbacks callbacks);
  ~ClusterAgent();  // As Stop.

  ClusterAgent(const ClusterAgent&) = delete;
  ClusterAgent& operator=(const ClusterAgent&) = delete;

  // Begins to register and keeps trying; returns at once. At most once.
  void Start();

  // Ends a call that is under way, says Leave if the scheduler knows us (which
  // takes at most a second), and joins. May be repeated.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_CLUSTER_AGENT_H_
