// One run of partition_sim, in parts.
#ifndef SERAPH_TESTS_SIM_PARTITION_SIM_RUN_H_
#define SERAPH_TESTS_SIM_PARTITION_SIM_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/table/partitioning.h"
#include "scheduler/membership/node_registry.h"
#include "scheduler/replicas/partition_group.h"
#include "server/core/partition_snapshot.h"
#include "tests/sim/replica_host.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_outcome.h"
#include "tests/sim/sim_rank.h"
#include "tests/sim/sim_session.h"
#include "tests/sim/witness.h"

namespace seraph::testing {

// Parts of the implementation: partition_sim.cc (what the seed decides, lives
// of machines), partition_sim_scheduler.cc, partition_sim_ranks.cc,
// partition_sim_sessions.cc, partition_sim_checks.cc.
class PartitionSim {
 public:
  PartitionSim(uint64_t seed, bool record)
      : loop_(seed, record),
        network_(&loop_),
        faults_(&loop_, &network_,
                {.crash = [this](int m) { Crash(m); },
                 .restart = [this](int m) { Restart(m); }}) {}

  SimOutcome Run();

 private:
  static constexpr absl::Duration kHeartbeat = absl::Milliseconds(50);
  static constexpr absl::Duration kCallTimeout = absl::Milliseconds(250);

  // What the scheduler's store holds.
  struct Stored {
    uint64_t generation = 1;
    std::optional<GroupRecord> group;
    std::vector<KnownNode> known;
    std::vector<uint32_t> attempts;  // By rank; 0: not handed out.
    std::vector<int> machine;        // By rank.
    std::set<uint32_t> done;
  };
  // A look at a replica's bytes.
  struct Compared {
    uint64_t generation = 0;
    LogPosition last;
    int skipped = 0;
  };
  struct Server {
    Node node;
    Compared compared;
    std::unique_ptr<ReplicaHost> host;
    bool registered = false;
  };
  struct Life {
    int machine = 0;
    uint32_t attempt = 0;
    uint64_t generation = 0;
    std::unique_ptr<SimRank> rank;
  };

  // What the seed decides ---------------------------------------------------

  void Choose();
  void Begin();
  void Crash(int machine);
  void Restart(int machine);

  // Servers -----------------------------------------------------------------

  void StartServer(int machine);
  void ServerTick(int machine);
  void Heartbeat(int machine);

  // The scheduler -----------------------------------------------------------

  struct HeldPartition {
    uint64_t generation = 0;
    uint64_t epoch = 0;
  };

  absl::Duration SchedulerNow() const;
  void StartScheduler();
  void SchedulerTick();
  void Lose(const Node& node);
  void OnRegister(const Node& node, std::optional<HeldPartition> held);
  bool OnHeartbeat(const Node& node, const std::vector<uint64_t>& silent);

  // As many replicas as wanted, and none on a server that drains.
  void Plan();

  // Commits, then lets the orders leave; may die in between.
  void Work();

  // Between the commit and the orders.
  bool Dies();
  void Place(const std::vector<Node>& alive);
  void GoBack();

  // Orders the members of epoch 1 to create their replicas.
  void AssignAll();
  void SendAssign(const Node& to, const ReplicaOrder& order,
                  uint64_t generation);

  bool AllAssigned() const;
  void Configure(const Node& to, const ReplicaOrder& one, uint64_t generation,
                 int tries);

  void RecruitOne(const GroupSteps::ToPrimary& step, uint64_t generation,
                  int tries);

  void HandOverOne(const GroupSteps::ToPrimary& step, uint64_t generation);

  // A server is to hold nothing for a while.
  void MoveOne();

  // Ranks -------------------------------------------------------------------

  PartitionPlacement Placement() const;

  // Hands the rank out, if it is not; `anew`: also if it is.
  void HandOut(uint32_t rank, bool anew);
  void SendRun(uint32_t rank, uint32_t attempt, uint64_t generation,
               int machine);

  void Run(uint32_t rank, uint32_t attempt, uint64_t generation, int machine,
           const PartitionPlacement& placement);

  void ReportDone(uint32_t rank, int machine, uint64_t generation);
  void TellRanks();

  template <typename Reply, typename Serve>
  void CallServer(int machine, const Node& server, const char* what,
                  Serve serve, SimNetwork::Answer<Reply> done) {
    const int to = MachineOf(server);
    network_.Call<Reply>(
        machine, to, what, world_.lease,
        [this, to, serve](SimNetwork::Answer<Reply> answer) {
          ReplicaHost* host = HostOn(to);
          if (host != nullptr) serve(host, answer);
        },
        std::move(done));
  }

  int MachineOf(const Node& node) const;
  ReplicaHost* HostOn(int machine);

  // Clients that are no ranks -----------------------------------------------

  void ChooseSessions();
  // Where primaries are cut off, little else happens.
  void LeaveToCutOffs();
  void BeginSessions(std::vector<int>* machines);
  SimSessionPeers PeersOf(int machine);
  bool SessionsAreDone() const;

  // The primary is cut off from the scheduler, from the other servers and from
  // all clients but the first session, which does not hear of its successor: it
  // answers that one for as long as its lease lasts.
  void CutOffPrimary(absl::Duration back);

  // Checks ------------------------------------------------------------------

  bool AllDone() const;
  std::string Standing();

  // How many members each epoch has, for what is acknowledged in it.
  void RememberMembers();

  // What somebody is told of is with everybody who may be promoted by the
  // record.
  void CheckHeld(const char* how, uint64_t generation, uint32_t rank,
                 Clock clock);
  void CheckSessionHeld(uint64_t generation, uint64_t session, uint64_t number);
  // `held(state)`: whether it is in that member's log.
  template <typename Held>
  void CheckMembers(const std::string& what, uint64_t generation, Held held);
  // No acknowledgement comes of an epoch with too few members.
  void CheckEnough(const std::string& what, uint64_t generation,
                   uint64_t epoch);

  // Replicas at one position hold the same bytes, whenever they were there, and
  // whoever is in sync by the record holds something.
  void CompareReplicas();

  // The primary's rows, once every rank has reported that it is done. Until
  // they are here the job may still go back.
  void Export();
  std::map<Key, std::vector<float>> RowsOf(const Partition& partition) const;
  void Finish();

  SimLoop loop_;
  SimNetwork network_;
  SimFaults faults_;
  SimFaultPlan plan_;
  WitnessJob job_;
  std::optional<WitnessChecker> checker_;
  ReplicaWorld world_;
  std::string shape_;
  std::map<std::string, int64_t> counts_;
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, uint64_t> content_;

  int servers_n_ = 3;
  int replicas_ = 2;
  absl::Duration timeout_ = absl::Milliseconds(300);  // Of heartbeats.
  int new_attempts_ = 0;
  int moves_ = 0;
  std::string draining_;
  double drop_chance_ = 0;
  double crash_chance_ = 0;
  absl::Duration think_;
  absl::Duration session_think_;
  int cut_offs_ = 0;

  int scheduler_ = 0;
  std::map<int, Server> servers_;
  std::map<int, std::vector<uint64_t>> complaints_;
  std::vector<int> workers_;
  std::vector<std::vector<Life>> lives_;  // By rank.
  std::vector<int> session_machines_;
  std::vector<std::unique_ptr<SimSession>> sessions_;

  Stored stored_;
  // By generation and epoch.
  std::map<std::pair<uint64_t, uint64_t>, size_t> members_of_;
  bool exporting_ = false;
  std::optional<std::map<Key, std::vector<float>>> exported_;
  // Members that there must be: those that came in, without those whose loss
  // was decided for a reason.
  int expected_ = 0;
  bool whole_ = false;  // All of the first ones were created.
  absl::Duration scheduler_started_;
  uint64_t highest_epoch_ = 0;
  std::optional<NodeRegistry> registry_;
  std::optional<PartitionGroup> group_;
  GroupSteps steps_;  // Not done yet.
  uint64_t known_version_ = 0;
  std::set<uint64_t> assigned_;
  std::map<uint32_t, absl::Duration> handed_out_;  // By rank.
  std::map<uint32_t, uint64_t> generation_of_;     // Then.
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_PARTITION_SIM_RUN_H_
