// Where a partition stands in a cut: what it holds back, when it copies itself.
#ifndef SERAPH_SERVER_CORE_CUT_HOLD_H_
#define SERAPH_SERVER_CORE_CUT_HOLD_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/job/sync_spec.h"
#include "server/core/partition_copy.h"
#include "server/core/partition_messages.h"

namespace seraph {

// What a rank answers when it is asked for a cut: where it stands; in bsp the
// clock of its last entry plus one step, so that an entry that ends epoch e at
// step n answers (e, n + 1), and nobody has to run an epoch inside the hold.
Clock CutClock(SyncMode mode, const RankProgress& rank);

// Whether a rank that expects `next` stands at the cut's clock; in bsp also
// when it has ended the epoch of that clock.
bool StandsAtCut(SyncMode mode, Clock next, Clock cut);

// Whether that is so of the whole partition, where ranks may have gone on from
// there: `next` by rank. Their entries at and after the clock wait for the
// slowest rank, so the rows are those of the cut.
bool RestsAtCut(absl::Span<const Clock> next, Clock cut);

// The one cut that is under way, and the last one that was copied. Cuts have
// ascending numbers; a number that is void never comes back. A value.
class CutHold {
 public:
  explicit CutHold(SyncMode mode) : mode_(mode) {}

  // Whether entries are held back at all, and one of this rank and clock is.
  bool holding() const { return id_ != 0; }
  bool Holds(uint32_t rank, Clock clock) const;

  // Begins a cut, in place of an older one, or confirms it: the clocks that
  // were answered at first. Errors: Aborted.
  absl::StatusOr<std::vector<Clock>> Begin(uint64_t cut,
                                           std::vector<Clock> answer,
                                           absl::Duration until);

  // Says where the ranks have to stand; `at_rest`: the slowest of them, as in
  // RestsAtCut. OK also for a cut that was copied. Errors: Aborted (void, or a
  // rank that expects `next`, all ranks if at rest, has passed), which makes
  // the cut void.
  absl::Status Take(uint64_t cut, std::vector<Clock> clocks, bool at_rest,
                    absl::Span<const Clock> next, absl::Duration until);

  // Whether the copy is due.
  bool IsDue(absl::Span<const Clock> next) const;
  bool IsLate(absl::Duration now) const { return holding() && now >= until_; }
  // Of a cut that was taken at rest: where. Else unset.
  std::optional<Clock> rest() const;
  bool IsCopied(uint64_t cut) const { return cut != 0 && cut == copied_id_; }

  // The cut that is under way is copied; the hold ends.
  void Copied(PartitionCopy copy, std::vector<Clock> clocks);
  const std::vector<Clock>& copied_clocks() const { return copied_clocks_; }
  absl::StatusOr<PartitionCopy> Move(uint64_t cut);
  size_t copied_bytes() const;

  // This cut and all before it are void; the copy of one of them is freed.
  void VoidUpTo(uint64_t cut);
  // The same for all that were heard of.
  void VoidAll() { VoidUpTo(std::max(id_, copied_id_)); }

  uint64_t id() const { return id_; }

  std::vector<Ticket> tickets;  // Of those who wait for the copy.

 private:
  SyncMode mode_;
  uint64_t id_ = 0;    // Under way; 0: none.
  uint64_t void_ = 0;  // This and all before it.
  absl::Duration until_;
  std::vector<Clock> answer_;
  std::optional<std::vector<Clock>> clocks_;  // By rank.
  bool at_rest_ = false;                      // They are one clock.

  uint64_t copied_id_ = 0;
  std::vector<Clock> copied_clocks_;
  std::optional<PartitionCopy> copy_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_CUT_HOLD_H_
