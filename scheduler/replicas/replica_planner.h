// Which replicas should be elsewhere: the next steps towards it.
#ifndef SERAPH_SCHEDULER_REPLICAS_REPLICA_PLANNER_H_
#define SERAPH_SCHEDULER_REPLICAS_REPLICA_PLANNER_H_

#include <cstdint>
#include <set>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "common/cluster/node.h"
#include "scheduler/replicas/partition_group.h"

namespace seraph {

// A living server.
struct ServerRoom {
  Node node;
  bool draining = false;  // Nothing is to be left there.
  bool avoided = false;   // No recruit for the moment.
  uint32_t held = 0;      // Replicas of all jobs.
};

struct HeldReplicas {
  uint32_t primaries = 0;
  uint32_t backups = 0;  // In sync, or joining.
};

// A member that goes as soon as the recruit which replaces it is in. Not
// stored: without it another one would go, which does no harm.
struct PlannedMove {
  size_t group = 0;
  uint64_t leaving = 0;
};

struct PlanRecruit {
  size_t group = 0;
  Node server;
  uint64_t leaving = 0;  // Who goes afterwards; 0: nobody.
};

struct PlanHandOver {
  size_t group = 0;
  uint64_t to = 0;
};

struct PlanLeaveOut {
  size_t group = 0;
  uint64_t leaving = 0;
};

using PlanStep = std::variant<PlanRecruit, PlanHandOver, PlanLeaveOut>;

struct PlannerOptions {
  uint32_t replicas = 1;
  uint32_t recruits_at_once = 4;
  // Groups that hand nothing over for the moment: it has failed.
  std::set<size_t> resting = {};
};

// A pure function: the steps to take now, at most one for each group, and none
// for a group that is in the middle of something. In this order:
//
//   * A server that drains is replaced, handed over from and left out.
//   * A partition with fewer members than wanted gets a recruit.
//   * One with more members loses one.
//   * Of two servers that differ by two replicas of the job or more, the
//     fuller one gives one to the other; then the same for primaries, where a
//     hand-over does it. Each such step lessens the sum of squares, so they
//     end. A server takes part in one of them at a time.
//
// A recruit goes to another host than the members' where there is one, then to
// the server that holds least of the job, of all jobs, by name. Fewer servers
// than replicas wanted: as many as there are.
//
// `servers` are those that may be used.
std::vector<PlanStep> PlanReplicas(const PlannerOptions& options,
                                   absl::Span<const PartitionGroup> groups,
                                   absl::Span<const ServerRoom> servers,
                                   absl::Span<const PlannedMove> moves);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_REPLICAS_REPLICA_PLANNER_H_
