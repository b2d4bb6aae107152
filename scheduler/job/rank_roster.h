// Which worker runs which rank of a job, and in which attempt.
#ifndef SERAPH_SCHEDULER_JOB_RANK_ROSTER_H_
#define SERAPH_SCHEDULER_JOB_RANK_ROSTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/cluster/node.h"

namespace seraph {

// What is stored of a rank.
struct RankRecord {
  uint32_t attempt = 0;        // The highest ever handed out; 0: none yet.
  std::optional<Node> worker;  // Unset: it waits for one.
  bool done = false;           // It has done all of its clocks.

  friend bool operator==(const RankRecord&, const RankRecord&) = default;
};

// Attempts are never set back: a partition that knows attempt n refuses all
// below it, also after the job went back.
//
// Threads: one at a time.
class RankRoster {
 public:
  explicit RankRoster(uint32_t ranks) : ranks_(ranks), seen_(ranks) {}
  explicit RankRoster(std::vector<RankRecord> ranks)
      : ranks_(std::move(ranks)), seen_(ranks_.size()) {}

  const std::vector<RankRecord>& records() const { return ranks_; }
  const RankRecord& operator[](uint32_t rank) const { return ranks_[rank]; }
  uint32_t size() const { return ranks_.size(); }

  // The worker gets the rank. Its attempt is that of the next Begin.
  void Assign(uint32_t rank, const Node& worker);

  // The rank begins anew: as the next attempt, which is returned.
  uint32_t Begin(uint32_t rank, absl::Duration now);

  // Nobody has it any more; a rank that is done stays so.
  void TakeFrom(uint32_t rank);

  // The ranks that `worker` had and has not done. They wait from now on.
  std::vector<uint32_t> LoseWorker(const Node& worker);

  void Finish(uint32_t rank) { ranks_[rank].done = true; }

  // The job goes back: all ranks wait, and none is done.
  void GoBack();

  bool AllDone() const;
  std::vector<uint32_t> Waiting() const;  // Not done, and without a worker.
  std::vector<uint32_t> RanksOf(const Node& worker) const;  // Not done.
  // All that have a worker, also if it is done.
  uint32_t CountOn(const Node& worker) const;
  std::vector<Node> Workers() const;  // With a rank that is not done.

  // Clocks --------------------------------------------------------------------

  // The ledger says which entries are expected next, by rank.
  void See(absl::Span<const Clock> clocks, absl::Duration now);

  // Something has happened that any rank may have to get over first.
  void Excuse(absl::Duration now);

  // A rank that has stood at one clock for `timeout`, behind another one or,
  // with `waits_at_end` (by rank: it has told its share of the epoch), behind
  // one that waits at the epoch's end. Only ranks that have a worker.
  std::optional<uint32_t> FindStalled(absl::Duration timeout, bool in_step,
                                      const std::vector<bool>& waits_at_end,
                                      absl::Duration now) const;

 private:
  struct Seen {
    Clock clock;
    absl::Duration since;
  };

  std::vector<RankRecord> ranks_;
  std::vector<Seen> seen_;  // [ranks]; not stored.
};

// "rank 3" or "ranks 3, 4".
std::string RanksText(absl::Span<const uint32_t> ranks);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_RANK_ROSTER_H_
