// What the log of a partition adds up to.
#ifndef SERAPH_SERVER_CORE_PARTITION_STATE_H_
#define SERAPH_SERVER_CORE_PARTITION_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/base/key.h"
#include "common/base/key_set.h"
#include "common/table/table_spec.h"
#include "server/core/folded_log.h"
#include "server/core/key_admission.h"
#include "server/core/log_record.h"
#include "server/core/partition_copy.h"
#include "server/core/rank_progress.h"
#include "server/core/sync_policy.h"
#include "server/functions/rows_at.h"
#include "server/store/combine.h"
#include "server/store/row_store.h"

namespace seraph {

// What a partition is, constant over its life.
struct PartitionOptions {
  TableSpec table;
  uint32_t table_index = 0;  // In the job's tables.
  uint32_t partition = 0;    // Index in the table.
  uint32_t ranks = 1;        // Of the job.
  SyncPolicy sync;
  uint64_t steps_per_epoch = 1;  // For schedules.
  uint64_t epochs = 1;           // For schedules.
  bool skip_non_finite = false;  // Else the partition fails.
  bool is_ledger = false;        // The job's first partition.
};

// The deterministic half of a partition: a fold over its log. Two replicas
// that folded the same records hold the same bytes, whenever each did so.
//
// bsp keeps an entry until those of all ranks for its clock are there, combines
// them in rank order and takes one optimizer step. Until it applies the clock
// after that it also keeps what the step overwrote: a rank that runs the clock
// again reads the parameters from before it. (One clock back is enough because
// a rank sends nothing of clock c + 1 before every partition has acknowledged
// its clock c.) ssp and asp apply an entry when it is folded. Function calls
// of an entry run after its step; in bsp those of all ranks after the clock's
// step, by rank, each rank's in its order.
//
// A step of the partition, for schedules and lazy terms, is an applied clock
// (bsp) or entry (ssp, asp), also one without keys here, but not the mark that
// ends an epoch.
//
// Threads: one at a time.
class PartitionState {
 public:
  // Before the first record. `store` holds the rows of the partition's range:
  // initial ones.
  PartitionState(PartitionOptions options, std::unique_ptr<RowStore> store);

  // As a log prefix left it: a snapshot's, whose rows `store` holds.
  // Requires: folded.ranks has options.ranks.
  PartitionState(PartitionOptions options, std::unique_ptr<RowStore> store,
                 FoldedLog folded);

  // Before the first record, at a cut: all entries below each rank's clock are
  // in the rows that `store` holds, none at or after it. No attempt has begun.
  // Requires: cut.ranks has options.ranks.
  PartitionState(PartitionOptions options, std::unique_ptr<RowStore> store,
                 const PartitionCut& cut);

  // Takes the next record of the log, which the primary of `epoch` appended.
  // The caller has checked that it fits: ranks and shapes, the attempt, and
  // that an entry's clock is the expected one. `list`, unless null, has the
  // record's keys.
  void Fold(uint64_t epoch, RecordPtr record, KeyList* list = nullptr);

  // The position of the last record, and whether a position lies in the log.
  LogPosition last() const;
  bool Contains(LogPosition position) const;
  // The epoch of record `number`. Requires: 0 < number <= records().
  uint64_t EpochOf(uint64_t number) const;

  // Why the partition cannot go on: table, key, clock and rank of the first
  // value that was not finite. Empty while all is well.
  const std::string& failure() const { return folded_.failure; }

  // Reading --------------------------------------------------------------

  enum class Readable {
    kNow,
    kNotYet,    // Entries are missing.
    kNoLonger,  // bsp: the clock was applied, and so was the one after it.
  };

  // Whether the rows for a pull of `rank` at `clock` are there.
  Readable ReadableAt(uint32_t rank, Clock clock) const;

  // The rows of `keys` for a pull at `clock`. Requires: ReadableAt is kNow.
  // `known`: as RowStore::Read.
  void ReadAt(Clock clock, KeySpan keys, absl::Span<float> out,
              ResolvedRows* known = nullptr) const;

  // The rows in the last applied state.
  void ReadLatest(KeySpan keys, absl::Span<float> out,
                  ResolvedRows* known = nullptr) const;

  // All rows likewise, for functions: a view until the next record. With a
  // clock: ReadableAt is required to be kNow.
  RowsAt RowsFor(std::optional<Clock> clock) const;

  const PartitionOptions& options() const { return options_; }
  const FoldedLog& folded() const { return folded_; }
  // Of a table with admit_after above 1; else there are none.
  Sightings sightings() const;
  const RankProgress& rank(uint32_t rank) const { return folded_.ranks[rank]; }
  uint32_t ranks() const { return folded_.ranks.size(); }
  // The last number taken from the session; 0: none.
  uint64_t session(uint64_t session) const;
  size_t sessions() const { return folded_.sessions.size(); }
  // The least expected clock of all ranks.
  Clock slowest() const { return slowest_; }
  // Records folded so far.
  uint64_t records() const { return folded_.records; }
  uint64_t skipped_rows() const { return folded_.skipped_rows; }

  const RowStore& store() const { return *store_; }
  RowStore* mutable_store() { return store_.get(); }  // For a copy's marks.
  const LazySums& sums() const { return folded_.sums; }

  // Everything that is no row, at a cut: see the constructor.
  // Requires: no entry waits.
  PartitionCut Cut() const;

  // The same where entries wait (bsp): without those at and after `clock`, as
  // if they had not come. Requires: slowest() is `clock`.
  // Errors: Aborted where the ledger does not reach back so far.
  absl::StatusOr<PartitionCut> CutBelow(Clock clock) const;

  // Whether entries of a clock wait for those of other ranks (bsp).
  bool entries_wait() const { return !folded_.waiting.empty(); }

  // Rows, index and kept entries, in bytes.
  size_t bytes() const;

 private:
  // Says in a failure whose update it was.
  using Whose = absl::FunctionRef<std::string()>;

  void FoldOne(const AttemptRecord& record);
  void FoldEntry(RecordPtr record, KeyList* list);
  void FoldOne(const SessionRecord& record, KeyList* list);
  void FoldOne(const LoadRecord& record);
  void FoldOne(const CallRecord& record);
  void FindSlowest();

  // bsp: whether a pull at `clock` wants the rows from before the last step.
  bool IsBefore(Clock clock) const;

  // bsp: applies every clock that is complete.
  void ApplyCompleteClocks();
  void ApplyClock(Clock clock);
  // One optimizer step at the learning rate of `clock`, of the keys that exist
  // or are admitted. `times` [keys]: how many ranks have pushed each; empty:
  // one. `list`: null, or with the same keys.
  void Step(Clock clock, KeySpan keys, absl::Span<const uint8_t> times,
            absl::Span<const float> gradients, Whose whose,
            Overwritten* overwritten, KeyList* list);
  // The last rank has ended an epoch.
  void EndEpoch();
  // Runs a call over the rows as they are now. `overwritten` (null: nobody
  // reads it) gets the rows that the call writes, as they were before the step
  // that filled it.
  void RunCall(const FunctionCall& call, Clock clock, Whose whose,
               Overwritten* overwritten);
  void SetWeights(absl::Span<const Key> keys, absl::Span<const float> values,
                  absl::string_view what);

  const PartitionOptions options_;
  const CombineKind combine_;
  const std::unique_ptr<RowStore> store_;
  FoldedLog folded_;
  std::optional<KeyAdmission> admission_;
  // Of folded_, for speed.
  Clock slowest_;
  size_t waiting_bytes_ = 0;
};

// Checksum of an entry's keys and values, however the keys are told: under bsp
// a repeat has the same.
uint64_t EntryChecksum(KeySpan keys, absl::Span<const float> values);

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PARTITION_STATE_H_
