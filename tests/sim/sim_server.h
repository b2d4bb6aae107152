// A server of a simulated cluster, in one of its lives.
#ifndef SERAPH_TESTS_SIM_SIM_SERVER_H_
#define SERAPH_TESTS_SIM_SIM_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/key.h"
#include "common/cluster/node.h"
#include "common/cluster/term_guard.h"
#include "proto/parameters.pb.h"
#include "proto/replicas.pb.h"
#include "server/service/checkpoint_files.h"
#include "server/service/job_directory.h"
#include "server/service/parameter_calls.h"
#include "server/service/peer_sender.h"
#include "server/service/replica_calls.h"
#include "tests/sim/cluster_world.h"
#include "tests/sim/sim_executor.h"

namespace seraph::testing {

// All of a server (real: JobDirectory, ParameterCalls, ReplicaCalls,
// CheckpointFiles) but for gRPC and threads.
class SimServer {
 public:
  template <typename Reply>
  using Then = std::function<void(absl::StatusOr<Reply>)>;
  using Rows = std::map<Key, std::vector<float>>;  // Original keys.

  SimServer(ClusterWorld* world, int machine, Node node);
  ~SimServer();  // The machine is down, or the simulation over.

  void Start();

  const Node& node() const { return node_; }
  TermGuard* terms() { return &terms_; }
  JobDirectory& jobs() { return *jobs_; }

  void Exchange(const v1::ExchangeRequest& request,
                Then<v1::ExchangeReply> then);
  void BeginAttempt(const v1::BeginAttemptRequest& request,
                    Then<v1::BeginAttemptReply> then);

  void AssignPartitions(const v1::AssignPartitionsRequest& request,
                        Then<v1::AssignPartitionsReply> then);
  void DropJob(const v1::DropJobRequest& request, Then<v1::DropJobReply> then);
  void Configure(const v1::ConfigureRequest& request,
                 Then<v1::ConfigureReply> then);
  void Recruit(const v1::RecruitRequest& request, Then<v1::RecruitReply> then);
  void HandOver(const v1::HandOverRequest& request,
                Then<v1::HandOverReply> then);
  void BeginCut(const v1::BeginCutRequest& request,
                Then<v1::BeginCutReply> then);
  void TakeCut(const v1::TakeCutRequest& request, Then<v1::TakeCutReply> then);
  void WriteCut(const v1::WriteCutRequest& request,
                Then<v1::WriteCutReply> then);
  void DropCut(const v1::DropCutRequest& request, Then<v1::DropCutReply> then);
  void ReadLedger(const v1::ReadLedgerRequest& request,
                  Then<v1::ReadLedgerReply> then);
  void ExportPartition(const v1::ExportPartitionRequest& request,
                       Then<Rows> then);
  void Deliver(const v1::ReplicaMessage& message);

  static Rows RowsOf(const Partition& partition);

  // Looks at all partitions that are held, each in its next turn.
  void Look(const std::function<void(const JobName&, const Partition&)>& look);

 private:
  class Peers;

  void Tick();
  // What a request met, by part: those of the push, then those of the pull.
  struct Met {
    uint64_t generation = 0;
    uint64_t epoch = 0;
    uint32_t attempt = 0;  // The highest that has begun.
  };
  template <typename Body>
  void Meet(const Body& body, const std::shared_ptr<std::vector<Met>>& met);
  // Nothing is taken under an epoch or attempt that is over here.
  template <typename Body, typename Results>
  void CheckTaken(const Body& body, const Results& results,
                  const std::vector<Met>& met, size_t first);
  // Whoever gets the answer to an order, with a look at whether it may be
  // carried out at all: one for another start of the server, of a scheduler
  // that was replaced or of an older generation may not.
  template <typename Request, typename Reply, typename Method>
  void Carry(const char* what, const Request& request, Method method,
             Then<Reply> then);
  template <typename Request, typename Reply>
  Then<Reply> Watched(const char* what, const Request& request,
                      Then<Reply> then);

  ClusterWorld& world_;
  const int machine_;
  const Node node_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  TermGuard terms_;
  SimExecutor executor_, files_executor_;
  std::unique_ptr<Peers> peers_;
  CheckpointFiles files_;
  std::unique_ptr<JobDirectory> jobs_;
  // The highest that orders named, and dropped, by job.
  std::map<std::string, uint64_t> generations_, dropped_;
  std::optional<ParameterCalls> calls_;
  std::optional<ReplicaCalls> orders_;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_SERVER_H_
