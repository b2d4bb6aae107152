// A daemon that stops asks that others take over what it holds.
#ifndef SERAPH_COMMON_CLUSTER_NODE_DRAIN_H_
#define SERAPH_COMMON_CLUSTER_NODE_DRAIN_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace seraph {

struct NodeDrainOptions {
  std::string scheduler;  // As ClusterAgentOptions.
  std::string name;       // Of this node.
  uint64_t incarnation = 0;
  // How long to wait: for others to take over, and where nobody can because
  // all servers stop, for the jobs to be saved.
  absl::Duration patience;
  absl::Duration patience_to_save;
  // Nothing is here, as far as the node knows: it asks so that nothing is given
  // to it any more, and for what is on its way to it. Without an answer at once
  // it goes.
  bool is_empty = false;
  absl::Duration call_timeout = absl::Seconds(10);
  absl::Duration retry_backoff = absl::Milliseconds(20);
  absl::Duration retry_backoff_max = absl::Seconds(2);
};

// Asks the scheduler to take everything off this node, and again until nothing
// is left: OK. The node has to be registered, and to go on with what it does.
// Errors: DeadlineExceeded (something is left), Unavailable (no scheduler has
// answered for two seconds, or an empty node at once), others as the scheduler
// says.
absl::Status DrainNode(const NodeDrainOptions& options);

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_NODE_DRAIN_H_
