// Which nodes a job runs on.
#ifndef SERAPH_SCHEDULER_PLACEMENT_NODE_CHOICE_H_
#define SERAPH_SCHEDULER_PLACEMENT_NODE_CHOICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/cluster/node.h"

namespace seraph {

// A living worker and the ranks of other jobs that it runs.
struct WorkerRoom {
  Node node;
  uint32_t taken = 0;
};

struct NodeChoice {
  std::vector<Node> servers;         // All that may hold partitions.
  std::vector<Node> worker_of_rank;  // [ranks].
};

// Chooses servers and the worker of each rank, all ranks at once: workers in
// turn, the least busy one first, each for as many ranks as it has slots left.
// With `same_arithmetic` (bsp: every node must compute the same bits) all nodes
// have one arithmetic id; of several that would do, the one with the most
// slots left, then the first by name.
//
// A pure function; the order of the arguments is of no matter.
//
// Errors: Unavailable, saying what is missing: the job has to wait.
absl::StatusOr<NodeChoice> ChooseNodes(absl::Span<const Node> servers,
                                       absl::Span<const WorkerRoom> workers,
                                       uint32_t ranks, bool same_arithmetic);

// The least busy worker that has a slot left, the first by name among equals.
// `arithmetic`: the id that it must have; "": any. `not_to`: an incarnation
// that is taken only where no other has room; 0: none. Null if nobody has.
WorkerRoom* FindRoom(absl::Span<WorkerRoom> workers,
                     const std::string& arithmetic, uint64_t not_to);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_PLACEMENT_NODE_CHOICE_H_
