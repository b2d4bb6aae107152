// The training loop of one rank.
#ifndef SERAPH_WORKER_TRAIN_RANK_MACHINE_H_
#define SERAPH_WORKER_TRAIN_RANK_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/metrics/auc.h"
#include "common/metrics/metric_sums.h"
#include "common/time/clock.h"
#include "worker/client/table_client.h"
#include "worker/data/batch.h"
#include "worker/model/batch_keys.h"
#include "worker/model/model.h"
#include "worker/train/attempt_beginning.h"
#include "worker/train/batch_stream.h"

namespace seraph {

struct RankOptions {
  uint32_t rank = 0;
  uint32_t epochs = 1;
  size_t batch_size = 256;
  size_t validation_batch_size = 1024;
  uint32_t pipeline = 0;       // Own entries that may be unacknowledged.
  bool epoch_barrier = false;  // The scheduler decides at each epoch's end.
  bool skip_non_finite = false;
  bool needs_auc = false;  // Of the validation scores.
  double clip_norm = 0;    // 0: none.
};

// A rank's share of the validation at the end of an epoch.
struct EpochShare {
  uint32_t epoch = 0;
  std::optional<MetricSums> validation;  // Unset: the job has none.
  std::vector<AucRun> runs;              // With needs_auc.
  // From the first pull of the epoch to its last acknowledged entry. 0: the
  // attempt has not seen all of it.
  double train_seconds = 0;
};

// What the machine wants done.
struct RankActions {
  // To be started, in this order; each is later told to OnStep by its id.
  struct StartStep {
    uint64_t id = 0;
    Step step;  // Views of the machine: to be started before the next call.
  };
  std::vector<StartStep> steps;
  // To be sent to the scheduler, whose decision is told to OnDecision.
  std::optional<EpochShare> share;
  // The rank has ended: done if OK.
  std::optional<absl::Status> ended;
};

// Batch -> keys -> pull -> gradient -> push, as a state machine without IO:
// what was done goes in, what is to be done comes out.
//
// The keys of the batches to come are sent ahead: with the entry of clock c
// goes the pull of clock c + 1 + pipeline, which waits at the servers. An
// entry is computed when the rows of its clock are there and all but
// `pipeline` of the entries before it are acknowledged. A rank without records
// left first waits for all acknowledgements, then says so by an entry of its
// own, then takes its share of the validation at (epoch + 1, 0), where the
// parameters stand still, and waits for the scheduler's decision.
//
// Threads: one at a time. Reading and computing happen inside of the calls.
class RankMachine {
 public:
  // All must outlive this. `validation` is null where the job has none. The
  // tables of the model are those of the job, in the same order. `clock` is
  // for EpochShare::train_seconds alone; null: they are not measured.
  RankMachine(const RankOptions& options, Model* model, BatchStream* train,
              BatchStream* validation, const MonotonicClock* clock = nullptr);

  // Begins where the partitions stand. Some of them may have entries of the
  // clock already that it begins at: they take the repeats as such.
  void Begin(const RankStart& start, RankActions* actions);

  // A step has finished.
  void OnStep(uint64_t id, FinishedStep finished, RankActions* actions);

  // The scheduler's decision about the epoch whose share was sent.
  void OnDecision(bool stop, RankActions* actions);

 private:
  enum class Phase { kTraining, kEndingEpoch, kValidating, kDeciding, kEnded };

  // A minibatch whose keys were sent ahead.
  struct Work {
    Clock clock;
    Batch batch;
    BatchKeys keys;
    uint64_t records_after = 0;  // Position in the epoch behind this batch.
    bool answered = false;
    std::vector<FloatBuffer> rows;         // By table.
    std::vector<TableGradient> gradients;  // By table.
  };
  // What a step that is out brings back.
  struct OutStep {
    Work* pulled = nullptr;
    bool has_entry = false;
  };

  // At the clock of record `record`.
  void BeginEpoch(Clock clock, uint64_t record, RankActions* actions);
  void BeginValidation(uint32_t finished_epoch, RankActions* actions);
  // Reads the next batch and adds it to works_; false at the end of the epoch.
  bool ReadAhead(RankActions* actions);
  // Pulls for batches until `depth` of them are out or the epoch has no more.
  void FillPipeline(size_t depth, RankActions* actions);
  void ReuseRetired();
  // Does what can be done now.
  void Advance(RankActions* actions);
  void Train(RankActions* actions);
  void ComputeEntry(RankActions* actions);
  void EndEpoch(RankActions* actions);
  void Validate(RankActions* actions);
  void Decide(RankActions* actions);
  void NextEpoch(RankActions* actions);
  void End(absl::Status status, RankActions* actions);

  // Adds a step; `work` is what it pulls for, or null.
  void AddStep(std::optional<EntryPush> entry, Work* work,
               RankActions* actions);
  v1::LedgerRecord Ledger(Clock clock, uint64_t records_after) const;
  std::vector<absl::Span<const float>> RowsOf(const Work& work) const;
  absl::Status Where(const absl::Status& status, Clock clock) const;

  const RankOptions options_;
  Model& model_;
  BatchStream& train_;
  BatchStream* const validation_;
  const MonotonicClock* const clock_;

  Phase phase_ = Phase::kTraining;
  Clock next_clock_;        // Of the next batch to be read.
  uint64_t position_ = 0;   // Records read of the epoch, or of the share.
  bool exhausted_ = false;  // No batch is left.
  std::deque<std::unique_ptr<Work>> works_;  // Front: the next to compute.
  // Done with; an entry of this call may still be a view of the retired ones.
  std::vector<std::unique_ptr<Work>> retired_;
  std::vector<std::unique_ptr<Work>> spare_;
  uint64_t last_step_ = 0;
  std::map<uint64_t, OutStep> out_;
  size_t unacknowledged_ = 0;
  // When the first pull of the epoch was sent, if this attempt has sent it.
  std::optional<absl::Duration> epoch_begun_;
  double train_seconds_ = 0;  // Of the epoch before that.

  MetricSums sums_;  // Of the epoch so far.
  MetricSums validation_sums_;
  std::vector<AucRun> runs_;
  std::unique_ptr<AucRunBuilder> run_builder_;
  std::vector<double> scores_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_RANK_MACHINE_H_
