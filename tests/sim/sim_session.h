// A client that is no rank, and works on one partition.
#ifndef SERAPH_TESTS_SIM_SIM_SESSION_H_
#define SERAPH_TESTS_SIM_SIM_SESSION_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/cluster/partition_placement.h"
#include "server/core/partition_messages.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/witness.h"

namespace seraph::testing {

// What it talks to; each call ends exactly once, perhaps with an error of the
// way there, but not in a life of its machine that is over.
struct SimSessionPeers {
  std::function<void(const Node& server, uint64_t generation, PushMessage,
                     std::function<void(absl::StatusOr<Answer>)>)>
      push;
  std::function<void(const Node& server, uint64_t generation, PullMessage,
                     std::function<void(absl::StatusOr<Answer>)>)>
      pull;
  // The job's generation, and where the partition is.
  using Place = std::pair<uint64_t, PartitionPlacement>;
  std::function<void(std::function<void(absl::StatusOr<Place>)>)> place;
};

// It looks and pushes, one at a time: numbers its pushes, sends each under its
// number until it is acknowledged, and then, now and then, once more; sends
// what is out anew when the partition moves; drops answers of older epochs. It
// begins again, as another session, when the job goes back. What it knows
// survives its machine's crash: it goes on with the push that was out.
class SimSession {
 public:
  struct Habits {
    uint32_t pushes = 0;      // In each generation; it looks until the end.
    absl::Duration think;     // At most, between two of its calls.
    double push_share = 0.5;  // Of calls, while pushes are left.
  };

  SimSession(SimLoop* loop, int machine, const WitnessJob* job,
             WitnessChecker* checker, uint32_t index, Habits habits,
             SimSessionPeers peers);

  // In each life of its machine.
  void Start();
  // A newer one is known.
  void Update(uint64_t generation, const PartitionPlacement& placement);
  void End() { ended_ = true; }

  // All pushes of that generation are acknowledged.
  bool IsDone(uint64_t generation) const {
    return generation_ == generation && acknowledged_ == habits_.pushes;
  }
  int repeats() const { return repeats_; }

 private:
  enum class Out { kNothing, kLook, kPush, kRepeat };

  WitnessChecker::Who who() const {
    return checker_.Session(generation_, index_);
  }
  void Next();
  void Send();
  void SendLook(uint64_t wait);
  void SendPush(uint64_t wait);
  void Again();
  void FindPlace();
  void OnAnswer(const absl::StatusOr<Answer>& answer);
  void Take(const Answer& answer);

  SimLoop& loop_;
  const int machine_;
  const WitnessJob& job_;
  WitnessChecker& checker_;
  const uint32_t index_;
  const Habits habits_;
  const SimSessionPeers peers_;

  bool ended_ = false;
  uint64_t waits_ = 0;  // Numbers the waits, so that an old one does nothing.
  uint64_t generation_ = 0;
  uint64_t session_ = 0;
  PartitionPlacement placement_;
  uint64_t epoch_seen_ = 0;
  uint32_t acknowledged_ = 0;
  Out out_ = Out::kNothing;
  uint32_t number_ = 0;    // Of the push that is out.
  std::vector<Key> keys_;  // Mixed, of the look.
  int repeats_ = 0;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_SESSION_H_
