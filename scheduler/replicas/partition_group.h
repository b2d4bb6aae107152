// The replicas of one partition, as the scheduler decides about them.
// docs/fault-tolerance.md, "Changing the replicas".
#ifndef SERAPH_SCHEDULER_REPLICAS_PARTITION_GROUP_H_
#define SERAPH_SCHEDULER_REPLICAS_PARTITION_GROUP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "common/cluster/node.h"
#include "common/cluster/replica.h"

namespace seraph {

// What is stored before anybody hears of it. Inside an epoch only `recruit`
// changes, and only from none to one.
struct GroupRecord {
  uint64_t epoch = 1;
  std::vector<Node> members;  // In sync; servers, each in one incarnation.
  uint64_t primary = 0;       // Incarnation of a member; 0: being chosen.
  std::optional<Node> recruit;

  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};

// An order about one partition to one server.
struct DutyOrder {
  Node to;
  ReplicaOrder order;
};

// What is to be done after an event: in this order, and repeated until it is
// answered, unless a later record makes it void.
struct GroupSteps {
  bool record_changed = false;     // Store record() first.
  bool placement_changed = false;  // Its epoch: clients are to be told.
  bool lost = false;               // No member is left: the job goes back.
  std::vector<DutyOrder> duties;

  // To the primary.
  struct ToPrimary {
    Node primary;
    uint64_t epoch = 0;
    Node recruit;
  };
  std::optional<ToPrimary> recruit;    // Bring `recruit` up to date.
  std::optional<ToPrimary> hand_over;  // Without `recruit`.
};

// A state machine without IO. Events and answers may come late, twice or
// never; each names the epoch and the incarnation that it is about, and what
// is not of now is ignored.
//
//   led, no recruit   --Recruit-->           led, recruit
//   led, recruit      --TakeRecruited-->     led (next epoch, one member more)
//   led               --a backup goes-->     led (next epoch)
//   led               --primary goes-->      collecting (next epoch)
//   led               --TakeHandedOver-->    collecting (next epoch)
//   collecting        --a member goes-->     collecting (next epoch)
//   collecting        --all have answered--> led (next epoch)
//   any               --the last one goes--> lost; final
//
// A recruit that goes, and one that is there when the primary goes, is out with
// the next epoch.
//
// Threads: one at a time.
class PartitionGroup {
 public:
  // A new partition in epoch 1: the first member leads. The members were told
  // by the order that created them.
  PartitionGroup(uint32_t table, uint32_t partition, std::vector<Node> members);

  // As it was stored. Nothing is known of what was ordered: Resume first.
  PartitionGroup(uint32_t table, uint32_t partition, GroupRecord record);

  uint32_t table() const { return table_; }
  uint32_t partition() const { return partition_; }
  const GroupRecord& record() const { return record_; }
  bool lost() const { return record_.members.empty(); }
  bool collecting() const { return record_.primary == 0 && !lost(); }
  bool handing_over() const { return handing_over_; }

  // Has a primary, which is known to lead in this epoch.
  bool settled() const;

  const Node* primary() const;  // Null if there is none.
  bool IsMember(uint64_t incarnation) const;
  bool IsRecruit(uint64_t incarnation) const;

  // Sends everything that the record asks for again. Changes nothing.
  void Resume(GroupSteps* out);

  // Events. ------------------------------------------------------------------

  // These servers are dead: members and the recruit among them go.
  void LoseNodes(absl::Span<const uint64_t> incarnations, GroupSteps* out);

  // These servers live, and are to hold nothing of the partition any more.
  void LeaveOut(absl::Span<const uint64_t> incarnations, GroupSteps* out);

  // How the replica at that server stands: the answer to a duty. A position
  // counts while collecting; a member that is divergent, or that does not do
  // its duty in this epoch, is left out.
  void TakeState(uint64_t incarnation, const ReplicaState& state,
                 GroupSteps* out);

  // The primary waits for the recruit, as of that epoch.
  void TakeRecruited(uint64_t epoch, uint64_t recruit, GroupSteps* out);

  // The recruit of that epoch does not come in: it is given up.
  void FailRecruit(uint64_t epoch, GroupSteps* out);

  // The primary of that epoch holds pushes back, and all is confirmed.
  void TakeHandedOver(uint64_t epoch, GroupSteps* out);

  // The hand-over of that epoch is off; all stays as it is.
  void FailHandOver(uint64_t epoch);

  // Wishes. False, and nothing is done, unless the group is settled, has no
  // recruit and hands nothing over. -------------------------------------------

  // Requires: `server` is no member.
  bool Recruit(const Node& server, GroupSteps* out);

  // Moves the primary to that member, if its log is as long as the others'.
  // Requires: it is a member and not the primary.
  bool HandOverTo(uint64_t incarnation, GroupSteps* out);

  // The member to take while collecting when several have the highest
  // position. Without a wish: the first.
  void Prefer(uint64_t incarnation) { preferred_ = incarnation; }

  // A server says that it holds a replica here. If that is none of the
  // record's, orders it to drop it.
  void FindHeld(const Node& server, GroupSteps* out);

 private:
  struct Departure {
    std::set<uint64_t> gone;
    bool alive = false;  // They are to be told.
  };

  void Remove(const Departure& departure, GroupSteps* out);
  void BeginEpoch(GroupSteps* out);
  void Collect(GroupSteps* out);
  void ChooseIfAllHaveAnswered(GroupSteps* out);
  void OrderAll(GroupSteps* out) const;
  void AskToRecruitIfReady(GroupSteps* out);
  void OrderDrop(const Node& server, GroupSteps* out);
  ReplicaOrder DutyOf(ReplicaDuty duty) const;
  const Node* FindMember(uint64_t incarnation) const;

  const uint32_t table_;
  const uint32_t partition_;
  GroupRecord record_;

  // Not stored; of this epoch.
  std::set<uint64_t> confirmed_;  // Incarnations that do their duty.
  std::map<uint64_t, LogPosition> positions_;  // While collecting.
  bool handing_over_ = false;
  // Servers that may have been told to drop, or to join, in this epoch: a duty
  // never changes inside an epoch. After a restart anyone may.
  std::set<uint64_t> dropped_;
  bool anyone_dropped_ = false;

  uint64_t preferred_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_REPLICAS_PARTITION_GROUP_H_
