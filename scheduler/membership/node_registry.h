// Who is in the cluster, in which incarnation, and who has died.
#ifndef SERAPH_SCHEDULER_MEMBERSHIP_NODE_REGISTRY_H_
#define SERAPH_SCHEDULER_MEMBERSHIP_NODE_REGISTRY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/cluster/node.h"

namespace seraph {

enum class NodeState { kAlive, kDead, kLeft };

struct NodeRecord {
  Node node;
  NodeState state = NodeState::kAlive;
  absl::Duration last_heard;  // Monotonic.
  NodeLoad load;
  bool draining = false;  // Gets nothing new, and loses what it has.
  bool leaving = false;   // It drains, and ends soon, empty or not.
};

// What is stored of a node, so that a scheduler knows after its start whom to
// expect.
struct KnownNode {
  Node node;
  bool draining = false;

  friend bool operator==(const KnownNode&, const KnownNode&) = default;
};

// Why a node is not there any more.
enum class LossReason {
  kSilent,     // No heartbeat for longer than the timeout.
  kRestarted,  // A new incarnation has registered at its name or address.
  kLeft,       // It said goodbye.
};

struct LostNode {
  Node node;
  LossReason reason = LossReason::kSilent;
};

// A state machine without IO: times are of the monotonic clock, and never go
// back from call to call. One record for each name; the records of nodes that
// are gone are kept for people to see, the latest kMaxGone of them.
//
// Threads: one at a time.
class NodeRegistry {
 public:
  static constexpr size_t kMaxGone = 256;

  // `timeout` > 0: silence longer than it is death. But the silence may be the
  // scheduler's own; so nobody is called dead
  //   * before `start` + `timeout`: the `expected` ones, which a scheduler
  //     before this one knew, count as alive until then;
  //   * within a timeout after a time in which this process stood still;
  //   * while all nodes are silent, and within a timeout after it;
  //   * within a timeout after most of the servers (two at least) fell silent,
  //     or were heard again.
  NodeRegistry(absl::Duration timeout, absl::Duration start,
               absl::Span<const KnownNode> expected = {});

  // Takes a node in, and returns whom that makes dead: another incarnation of
  // its name, and whoever else had its address. The same incarnation again is
  // a repeat, or the return of one that was called dead, and makes none dead.
  std::vector<LostNode> Register(const Node& node, absl::Duration now);

  // Errors: NotFound for a name or an incarnation that is not alive here; the
  // node must register (again).
  absl::Status Heartbeat(absl::string_view name, uint64_t incarnation,
                         const NodeLoad& load, absl::Duration now);

  // Returns the node that is gone; nullopt if it was not alive here, which is
  // what a repeat finds.
  std::optional<LostNode> Leave(absl::string_view name, uint64_t incarnation);

  // From now on nothing new goes to the node; what it has is to be moved. A
  // new incarnation is not concerned. `incarnation` 0: whichever lives. One
  // that is `leaving` will end in any case. Errors: NotFound; else, unless it
  // is leaving, FailedPrecondition if no other node of its role could take
  // over.
  absl::Status Drain(absl::string_view name, uint64_t incarnation,
                     bool leaving = false);
  bool IsDraining(uint64_t incarnation) const;

  // Living nodes that are leaving; and whether all servers drain and one of
  // them is leaving: nobody will have what they hold.
  size_t CountLeaving() const;
  bool AllServersStop() const;

  // Returns the nodes that died by their silence since the last call, by name,
  // each just once. To be called several times in each timeout.
  std::vector<LostNode> Tick(absl::Duration now);

  // Living nodes of a role, also those that drain, by name.
  std::vector<Node> Alive(NodeRole role) const;
  bool IsAlive(absl::string_view name, uint64_t incarnation) const;

  // All that are known, by name.
  std::vector<NodeRecord> Records() const;

  // The living, by name: to be stored when the version has changed.
  std::vector<KnownNode> Known() const;
  uint64_t known_version() const { return known_version_; }

 private:
  NodeRecord* FindAlive(absl::string_view name, uint64_t incarnation);
  void ForgetOldest();
  void LookForOwnSilence(absl::Duration now);

  absl::Duration timeout_;
  absl::Duration nobody_dies_until_;
  absl::Duration last_tick_;
  bool most_are_silent_ = false;
  uint64_t known_version_ = 0;
  std::map<std::string, NodeRecord, std::less<>> nodes_;  // By name.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_MEMBERSHIP_NODE_REGISTRY_H_
