// A worker of a simulated cluster, in one of its lives.
#ifndef SERAPH_TESTS_SIM_SIM_WORKER_H_
#define SERAPH_TESTS_SIM_SIM_WORKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/cluster/node.h"
#include "common/cluster/term_guard.h"
#include "proto/tasks.pb.h"
#include "tests/sim/cluster_world.h"
#include "tests/sim/sim_rank_driver.h"

namespace seraph::testing {

// The rules of worker/service, without its threads: which orders are taken.
class SimWorker {
 public:
  SimWorker(ClusterWorld* world, int machine, Node node);

  const Node& node() const { return node_; }
  TermGuard* terms() { return &terms_; }

  absl::StatusOr<v1::ScanReply> Scan(const v1::ScanRequest& request);
  absl::Status RunRanks(const v1::RunRanksRequest& request);
  absl::Status UpdatePlacements(const v1::UpdatePlacementsRequest& request);
  absl::Status StopJob(const v1::StopJobRequest& request);
  // It was called dead: its ranks are somebody else's.
  void LetGo() { jobs_.clear(); }

  std::string Standing() const;
  bool runs_something() const;

 private:
  struct JobRun {
    uint64_t generation = 0;
    std::shared_ptr<const TableRouter> router;
    std::map<uint32_t, std::unique_ptr<SimRankDriver>> ranks;
  };

  absl::Status Check(uint64_t incarnation, uint64_t term);
  SimLink* LinkTo(int machine);

  ClusterWorld& world_;
  const int machine_;
  const Node node_;
  TermGuard terms_;
  std::map<int, std::unique_ptr<SimLink>> links_;  // By machine.
  std::map<std::string, JobRun> jobs_;
  std::map<std::string, uint64_t> stopped_;  // Highest generation.
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_WORKER_H_
