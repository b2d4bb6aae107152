// A rank that works on one partition.
#ifndef SERAPH_TESTS_SIM_SIM_RANK_H_
#define SERAPH_TESTS_SIM_SIM_RANK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/cluster/partition_placement.h"
#include "server/core/partition_messages.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/witness.h"

namespace seraph::testing {

// What a rank talks to; each call ends exactly once, perhaps with an error of
// the way there.
struct SimRankPeers {
  std::function<void(const Node& server, uint64_t generation, PushMessage,
                     std::function<void(absl::StatusOr<Answer>)>)>
      push;
  std::function<void(const Node& server, uint64_t generation, PullMessage,
                     std::function<void(absl::StatusOr<Answer>)>)>
      pull;
  std::function<void(const Node& server, uint64_t generation, RankName,
                     std::function<void(absl::StatusOr<Done>)>)>
      begin_attempt;
  // Where the partition is now.
  std::function<void(std::function<void(absl::StatusOr<PartitionPlacement>)>)>
      placement;
  std::function<void()> done;  // All its clocks are acknowledged.
};

// One attempt, alive on a machine. It does what worker/client and worker/train
// do for many partitions, for one: resend under the same name after a refusal
// or a silence, follow the placement, drop answers of older epochs.
class SimRank {
 public:
  SimRank(SimLoop* loop, int machine, const WitnessJob* job,
          WitnessChecker* checker, WitnessChecker::Who who,
          PartitionPlacement placement, SimRankPeers peers);

  void Start();
  // A newer one is known.
  void Update(const PartitionPlacement& placement);

 private:
  void Again(void (SimRank::*what)());
  void FindPlacement(void (SimRank::*then)());
  void BeginAttempt();
  void NextClock(Clock clock);
  void SendPull();
  void OnPull(absl::StatusOr<Answer> answer);
  void SendChunks();
  void OnChunk(uint32_t chunk, absl::StatusOr<Answer> answer);
  // False: the rank goes on with `again` after a while, or ends.
  bool Judge(const absl::StatusOr<Answer>& answer, void (SimRank::*again)());
  bool EndsEpoch() const { return clock_.step >= job_.steps[who_.rank]; }

  SimLoop& loop_;
  const int machine_;
  const WitnessJob& job_;
  WitnessChecker& checker_;
  const WitnessChecker::Who who_;
  PartitionPlacement placement_;
  const SimRankPeers peers_;

  bool ended_ = false;
  uint64_t waits_ = 0;  // Numbers the waits, so that an old one does nothing.
  uint64_t epoch_seen_ = 0;
  Clock clock_;
  std::vector<Key> keys_;    // Mixed, of the pull.
  std::vector<bool> acked_;  // By chunk.
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_RANK_H_
