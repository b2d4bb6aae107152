// What the log of a partition adds up to.
#ifndef SERAPH_SERVER_CORE_PARTITION_STATE_H_
#define SERAPH_SERVER_CORE_PARTITION_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/base/key.h"
#include "common/table/table_spec.h"
#include "server/core/log_record.h"
#include "server/core/sync_policy.h"
#include "server/store/combine.h"
#include "server/store/overwritten.h"
#include "server/store/row_store.h"

namespace seraph {

// What a partition is, constant over its life.
struct PartitionOptions {
  TableSpec table;
  uint32_t partition = 0;  // Index in the table.
  uint32_t ranks = 1;      // Of the job.
  SyncPolicy sync;
  uint64_t steps_per_epoch = 1;  // For schedules.
  uint64_t epochs = 1;           // For schedules.
  bool skip_non_finite = false;  // Else the partition fails.
  bool is_ledger = false;        // The job's first partition.
};

// How a rank stands in a partition.
struct RankProgress {
  uint32_t attempt = 0;             // The last one begun; 0: none yet.
  Clock next;                       // The entry that the log takes next.
  std::optional<Clock> last_entry;  // Of the entry before that.
  uint64_t last_checksum = 0;       // Of last_entry's keys and values.
  // The ledger partition alone: the last records, newest first, at most
  // pipeline + 2 of them, and one record for the end of each finished epoch.
  std::vector<LedgerRecord> ledger;
  std::vector<LedgerRecord> epoch_ends;
};

// The deterministic half of a partition: a fold over its log. Two replicas
// that folded the same records hold the same bytes, whenever each did so.
//
// bsp keeps an entry until those of all ranks for its clock are there, combines
// them in rank order and takes one optimizer step. Until it applies the clock
// after that it also keeps what the step overwrote: a rank that runs the clock
// again reads the parameters from before it. (One clock back is enough because
// a rank sends nothing of clock c + 1 before every partition has acknowledged
// its clock c.) ssp and asp apply an entry when it is folded.
//
// A step of the partition, for schedules and lazy terms, is an applied clock
// (bsp) or entry (ssp, asp), also one without keys here, but not the mark that
// ends an epoch.
//
// Threads: one at a time.
class PartitionState {
 public:
  // `store` holds the rows of the partition's range.
  PartitionState(PartitionOptions options, std::unique_ptr<RowStore> store);

  // Takes the next record of the log. The caller has checked that it fits:
  // ranks and shapes, the attempt, and that an entry's clock is the expected
  // one.
  void Fold(LogRecord record);

  // Why the partition cannot go on: table, key, clock and rank of the first
  // value that was not finite. Empty while all is well.
  const std::string& failure() const { return failure_; }

  // Reading --------------------------------------------------------------

  enum class Readable {
    kNow,
    kNotYet,    // Entries are missing.
    kNoLonger,  // bsp: the clock was applied, and so was the one after it.
  };

  // Whether the rows for a pull of `rank` at `clock` are there.
  Readable ReadableAt(uint32_t rank, Clock clock) const;

  // The rows of `keys` for a pull at `clock`. Requires: ReadableAt is kNow.
  void ReadAt(Clock clock, absl::Span<const Key> keys,
              absl::Span<float> out) const;

  // The rows in the last applied state.
  void ReadLatest(absl::Span<const Key> keys, absl::Span<float> out) const;

  const PartitionOptions& options() const { return options_; }
  const RankProgress& rank(uint32_t rank) const { return ranks_[rank]; }
  uint32_t ranks() const { return ranks_.size(); }
  // The last number taken from the session; 0: none.
  uint64_t session(uint64_t session) const;
  size_t sessions() const { return sessions_.size(); }
  // The least expected clock of all ranks.
  Clock slowest() const { return slowest_; }
  // Records folded so far.
  uint64_t records() const { return records_; }
  uint64_t skipped_rows() const { return skipped_rows_; }

  const RowStore& store() const { return *store_; }
  const LazySums& sums() const { return sums_; }
  // Rows for a start from a saved model; before the first record.
  absl::Status Load(absl::Span<const Key> keys, absl::Span<const float> values);

  // Rows, index and kept entries, in bytes.
  size_t bytes() const;

 private:
  void FoldOne(AttemptRecord record);
  void FoldOne(EntryRecord record);
  void FoldOne(SessionRecord record);

  // bsp: applies every clock that is complete.
  void ApplyCompleteClocks();
  void ApplyClock(Clock clock);
  // One optimizer step at the learning rate of `clock`.
  void Step(Clock clock, absl::Span<const Key> keys,
            absl::Span<const float> gradients, const std::string& whose,
            Overwritten* overwritten);

  const PartitionOptions options_;
  const CombineKind combine_;
  const std::unique_ptr<RowStore> store_;

  std::vector<RankProgress> ranks_;
  absl::flat_hash_map<uint64_t, uint64_t> sessions_;  // Last number of each.
  Clock slowest_;
  LazySums sums_;
  uint64_t records_ = 0;
  uint64_t skipped_rows_ = 0;
  std::string failure_;

  // bsp: entries of clocks that are not complete, by rank.
  std::map<Clock, std::map<uint32_t, EntryRecord>> waiting_;
  size_t waiting_bytes_ = 0;
  // bsp: everything below applied_ is applied; previous_ is the clock applied
  // last, and overwritten_ what that changed.
  Clock applied_;
  std::optional<Clock> previous_;
  Overwritten overwritten_;
};

// Checksum of an entry's keys and values: under bsp a repeat has the same.
uint64_t EntryChecksum(absl::Span<const Key> keys,
                       absl::Span<const float> values);

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PARTITION_STATE_H_
