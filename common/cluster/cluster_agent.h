// What a server and a worker share towards the scheduler.
//
// A thread and a connection of its own, so that heartbeats go out whatever else
// the daemon does: register, heartbeat, register again when the scheduler does
// not know us any more, leave.
#ifndef SERAPH_COMMON_CLUSTER_CLUSTER_AGENT_H_
#define SERAPH_COMMON_CLUSTER_CLUSTER_AGENT_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/cluster/node.h"

namespace seraph {

struct ClusterAgentOptions {
  std::string cluster;    // Its name.
  std::string scheduler;  // Where it listens: common/rpc/address.h.
  Node node;              // This daemon.

  absl::Duration call_timeout = absl::Seconds(10);

  // Pauses between attempts to register: jittered, doubling.
  absl::Duration retry_backoff = absl::Milliseconds(20);
  absl::Duration retry_backoff_max = absl::Seconds(2);
};

// All run on the agent's thread, one at a time, and none after Stop returns.
// They must be quick: heartbeats wait for them.
struct ClusterAgentCallbacks {
  // What the next heartbeat says.
  absl::AnyInvocable<NodeLoad()> load;

  // The scheduler does not know this incarnation: it was declared dead, or the
  // scheduler has forgotten everything. Either way it has given our work away
  // or will: drop all of it. The agent registers again afterwards.
  absl::AnyInvocable<void()> on_lost;

  // Whether the scheduler knows us and answers; called at each change, first
  // with true. False is no reason to stop work: training goes on while no
  // scheduler is there.
  absl::AnyInvocable<void(bool connected)> on_connected;
};

// Logs each change once: scheduler.registered, scheduler.unreachable,
// scheduler.refused, scheduler.lost.
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
