// All partitions of a job: where their replicas are, and what is done about it.
#ifndef SERAPH_SCHEDULER_REPLICAS_PARTITION_MAP_H_
#define SERAPH_SCHEDULER_REPLICAS_PARTITION_MAP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/cluster/node.h"
#include "common/cluster/partition_placement.h"
#include "scheduler/job/job_plan.h"
#include "scheduler/job/order.h"
#include "scheduler/membership/silent_links.h"
#include "scheduler/replicas/partition_group.h"
#include "scheduler/replicas/replica_planner.h"

namespace seraph {

// What is stored of a partition.
struct PartitionRecord {
  uint32_t table = 0;
  uint32_t partition = 0;
  KeyRange range;  // Mixed.
  GroupRecord group;

  friend bool operator==(const PartitionRecord&,
                         const PartitionRecord&) = default;
};

struct ReplicaOptions {
  uint32_t replicas = 1;   // Wanted copies of each partition.
  std::string arithmetic;  // Of the servers that may be used; "": all.
  uint32_t recruits_at_once = 4;
  // How long a server that was complained of is no recruit; doubles with each
  // complaint, up to 16 times.
  absl::Duration pause_after_complaint = absl::Seconds(10);
  // A hand-over that fails has held pushes back for a lease: how long none of
  // that partition is tried again.
  absl::Duration pause_after_hand_over = absl::Seconds(30);
};

// What is to be done after an event: store, then the rest.
struct ReplicaWork {
  bool store = false;               // Records() has changed.
  bool placements_changed = false;  // placements() has.
  bool lost = false;  // A partition without a member: the job must go back.

  // For OrderBook. ConfigureReplicas is batched: one for each server.
  struct To {
    Node node;
    OrderBody body;
  };
  std::vector<To> orders;

  bool empty() const { return !store && !placements_changed && orders.empty(); }
};

// One generation of a job: after a rollback there is a new one. Events change
// the state at once and add to the work, which the caller takes with TakeWork
// before it does anything else.
//
// Threads: one at a time.
class PartitionMap {
 public:
  // New partitions, as AssignPartitions creates them.
  PartitionMap(const ReplicaOptions& options,
               absl::Span<const PartitionPlacement> placements);

  // As they were stored; call Resume when the job's servers can be reached.
  PartitionMap(const ReplicaOptions& options,
               absl::Span<const PartitionRecord> records);

  // What has to be done since the last call. `plan` goes into the orders.
  ReplicaWork TakeWork(const std::shared_ptr<const JobPlan>& plan);

  // Sends all that the records ask for once more.
  void Resume();

  // Events. ------------------------------------------------------------------

  // The server is dead, or its incarnation.
  void LoseNode(const Node& server);

  // `from` says with a heartbeat that these have not confirmed something for a
  // lease; `links` has all that was said lately.
  void Complain(uint64_t from, absl::Span<const uint64_t> silent,
                const SilentLinks& links, absl::Duration now);

  // A server registers and holds a replica of this generation. Errors:
  // FailedPrecondition if it has seen a higher epoch than is known here: this
  // scheduler has an old state and must not run.
  absl::Status FindHeld(const Node& server, uint32_t table, uint32_t partition,
                        uint64_t epoch);

  // A server that was called dead is back: it may hold, or be about to hold,
  // replicas that it was ordered to take before.
  void ReturnServer(const Node& server);

  // Answers. The caller has seen that the job's generation is the same.
  // Errors: as FindHeld.
  absl::Status TakeConfigured(const Configured& configured);
  void TakeRecruited(const RecruitReplica& order, const Recruited& recruited);
  void TakeHandedOver(const HandOver& order);

  // Whether the server has a duty in the present epochs of that order, and
  // every partition of them another member.
  bool CanDoWithout(uint64_t server, const ConfigureReplicas& order) const;

  // The order was answered with an error that no repeat mends, or with none
  // for too long. Time limits (DEADLINE_EXCEEDED, UNAVAILABLE) of recruits are
  // for the caller to repeat.
  void FailConfigure(const Node& to, const ConfigureReplicas& order,
                     absl::Duration now);
  void FailRecruit(const RecruitReplica& order, absl::Duration now);
  void FailHandOver(const HandOver& order);

  // Does what makes the replicas as they should be: as many as wanted, nothing
  // on a server that drains, evenly spread. To be called after events, and now
  // and then. `servers`: all that live, with what they hold over all jobs.
  // `changes_allowed`: false while epochs should stay, as during a cut;
  // losses are handled all the same.
  void Plan(absl::Span<const ServerRoom> servers, bool changes_allowed,
            absl::Duration now);

  // Views. -------------------------------------------------------------------

  std::vector<PartitionRecord> Records() const;

  // By table and partition; the version is raised by every change, also over
  // restarts.
  std::vector<PartitionPlacement> Placements() const;
  uint64_t version() const;

  bool lost() const;
  bool AllLed() const;  // Every partition has a primary.
  // ... which knows that it leads, and is to stay it.
  bool AllSettled() const;
  uint32_t LeastInSync() const;
  uint32_t Degraded() const;  // Partitions with fewer members than wanted.
  bool Holds(uint64_t incarnation) const;  // As member or recruit.

  // Adds what each server holds, by incarnation.
  void AddHeld(std::map<uint64_t, HeldReplicas>* held) const;

  const std::vector<PartitionGroup>& groups() const { return groups_; }

 private:
  PartitionGroup* Find(uint32_t table, uint32_t partition);
  static absl::Status CheckEpoch(absl::string_view who, uint64_t epoch,
                                 const PartitionGroup& group);
  void Note(const GroupSteps& steps, const PartitionGroup& group);
  void SpreadChoices();
  void Avoid(uint64_t incarnation, absl::Duration now);

  const ReplicaOptions options_;
  std::vector<PartitionGroup> groups_;  // By table and partition.
  std::vector<KeyRange> ranges_;

  // For TakeWork.
  bool store_ = false;
  bool placements_changed_ = false;
  std::vector<ReplicaWork::To> to_primaries_;
  std::map<uint64_t, std::pair<Node, std::vector<ReplicaOrder>>> duties_;

  struct Pause {
    absl::Duration until;
    absl::Duration length;
  };
  std::map<uint64_t, Pause> avoided_;  // By incarnation.

  std::map<size_t, absl::Duration> resting_;  // By group: until when.
  bool changes_allowed_ = true;
  absl::Duration planned_at_;  // Plan was called last.
  // Recruits that are in, while no epoch may begin.
  std::vector<std::pair<RecruitReplica, Recruited>> waiting_;
  std::vector<PlannedMove> moves_;  // Under way; not stored.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_REPLICAS_PARTITION_MAP_H_
