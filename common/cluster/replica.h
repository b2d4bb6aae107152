// Copies of a partition, as the scheduler orders them and servers answer.
// docs/fault-tolerance.md
#ifndef SERAPH_COMMON_CLUSTER_REPLICA_H_
#define SERAPH_COMMON_CLUSTER_REPLICA_H_

#include <compare>
#include <cstdint>
#include <vector>

#include "common/cluster/node.h"

namespace seraph {

// A place in a partition's log. Numbers run from 1 without gaps; the epoch is
// that of the primary that appended the record. {0, 0}: before the first one.
struct LogPosition {
  uint64_t epoch = 0;
  uint64_t number = 0;

  friend auto operator<=>(const LogPosition&, const LogPosition&) = default;
};

// What a replica does in an epoch.
enum class ReplicaDuty {
  kCollect,  // No primary: takes and confirms nothing any more.
  kLead,
  kFollow,
  kJoin,  // Takes a snapshot from the primary.
  kDrop,
};

struct ReplicaOrder {
  uint32_t table = 0;
  uint32_t partition = 0;
  uint64_t epoch = 0;
  ReplicaDuty duty = ReplicaDuty::kDrop;
  Node primary;               // Without a name with kCollect.
  std::vector<Node> members;  // In sync, with the primary.

  friend bool operator==(const ReplicaOrder&, const ReplicaOrder&) = default;
};

// How a replica stands.
struct ReplicaState {
  uint32_t table = 0;
  uint32_t partition = 0;
  uint64_t epoch = 0;                     // The highest seen.
  ReplicaDuty duty = ReplicaDuty::kDrop;  // In it; kDrop: nothing is held.
  LogPosition last;
  bool divergent = false;  // `last` is not in its primary's log.

  friend bool operator==(const ReplicaState&, const ReplicaState&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_REPLICA_H_
