// One attempt of a rank in a simulated cluster.
#ifndef SERAPH_TESTS_SIM_SIM_RANK_DRIVER_H_
#define SERAPH_TESTS_SIM_SIM_RANK_DRIVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "proto/parameters.pb.h"
#include "tests/sim/cluster_world.h"
#include "tests/sim/epoch_watch.h"
#include "tests/sim/sim_link.h"
#include "tests/sim/witness_model.h"
#include "worker/client/table_client.h"
#include "worker/client/table_router.h"
#include "worker/model/model.h"
#include "worker/train/attempt_beginning.h"
#include "worker/train/batch_stream.h"
#include "worker/train/rank_machine.h"

namespace seraph::testing {

// What worker/train's RankRunner does with a thread, with events: a RankMachine
// and a TableClient (real), the servers and the scheduler over the network.
class SimRankDriver {
 public:
  struct Options {
    std::string job;
    uint64_t generation = 1;
    uint32_t rank = 0;
    uint32_t attempt = 1;
    bool epoch_barrier = false;
    uint64_t worker = 0;  // Its incarnation.
  };

  // `links`: to a machine, of the whole worker.
  using Links = std::function<SimLink*(int to)>;

  SimRankDriver(ClusterWorld* world, int machine, Options options,
                std::shared_ptr<const TableRouter> router, Links links);
  ~SimRankDriver();

  void Start();
  void Update(std::shared_ptr<const TableRouter> router);

  uint32_t attempt() const { return options_.attempt; }
  bool ended() const { return ended_; }
  std::string Standing() const;

 private:
  WitnessChecker::Who who() const {
    return {options_.generation, options_.rank, options_.attempt};
  }
  absl::Duration now() const { return clock_->Now(); }
  void FillHeader(const Node& server, v1::RequestHeader* header) const;

  void AskToBegin();
  void OnBegun(const std::shared_ptr<const TableRouter>& router,
               const absl::StatusOr<v1::BeginAttemptReply>& reply);
  void Do(RankActions actions);
  void Take(TableClient::Output output);
  void Send(const TableClient::Outgoing& outgoing);
  // Sends a copy under a name that nobody has: it must be refused.
  void SendStray(const TableClient::Outgoing& outgoing);
  void SetTimer();
  void Share(EpochShare share);
  void Report(absl::Status ended);

  ClusterWorld& world_;
  SimLoop& loop_;
  const int machine_;
  const Options options_;
  const Links links_;
  const MonotonicClock* const clock_;
  std::shared_ptr<const TableRouter> router_;
  // Of what comes later: this may be gone by then.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::unique_ptr<Model> model_;
  WitnessModel* witness_ = nullptr;  // model_, of a witness job.
  std::unique_ptr<BatchStream> train_, validation_;
  std::unique_ptr<RankMachine> machine_of_rank_;
  std::unique_ptr<TableClient> client_;
  EpochWatch watch_;

  // Until every partition has begun the attempt.
  AttemptBeginning beginning_;
  int asked_ = 0;

  struct OpenStep {
    uint64_t id = 0;
    std::optional<Clock> entry, pull;
    bool ends_epoch = false;
  };
  std::map<uint64_t, OpenStep> steps_;
  bool ended_ = false;
  absl::Duration timer_ = absl::InfiniteDuration();
  std::string last_;  // What it did last, for people.
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_RANK_DRIVER_H_
