#include "worker/train/rank_machine.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/float_buffer.h"
#include "common/status/errors.h"
#include "worker/model/clip.h"

namespace seraph {
namespace {

// Batches of validation whose pulls are out at once.
constexpr size_t kValidationDepth = 2;
// Distinct scores of a run: 24 MiB of memory while it is collected.
constexpr size_t kScoresPerRun = size_t{1} << 20;
// So many values of a table go with their entry: smaller messages are copied
// on their way whoever owns them.
constexpr size_t kLeastOwned = size_t{16} << 10;

}  // namespace

RankMachine::RankMachine(const RankOptions& options, Model* model,
                         BatchStream* train, BatchStream* validation,
                         const MonotonicClock* clock)
    : options_(options),
      model_(*model),
      train_(*train),
      validation_(validation),
      clock_(clock) {}

void RankMachine::Begin(const RankStart& start, RankActions* actions) {
  const Clock clock = start.clock;
  if (clock.step > 0) {
    const auto before = std::find_if(start.ledger.begin(), start.ledger.end(),
                                     [&](const v1::LedgerRecord& record) {
                                       return Clock{record.clock().epoch(),
                                                    record.clock().step()}
                                                  .NextStep() == clock;
                                     });
    if (before == start.ledger.end()) {
      return End(Where(absl::InternalError(
                           "the ledger has no record of the clock before"),
                       clock),
                 actions);
    }
    const absl::StatusOr<MetricSums> sums =
        MetricSums::FromArray(before->sums());
    if (!sums.ok()) return End(sums.status(), actions);
    sums_ = *sums;
    return BeginEpoch(clock, before->position().record(), actions);
  }
  // Its share of the last epoch may be missing; a repeat is harmless. But once
  // a partition has an entry of the next epoch the decision was made, and the
  // parameters need not stand still any more.
  const bool decided = start.furthest > clock;
  if (options_.epoch_barrier && clock.epoch > 0 && !decided) {
    return BeginValidation(clock.epoch - 1, actions);
  }
  if (clock.epoch >= options_.epochs) return End(absl::OkStatus(), actions);
  BeginEpoch(clock, 0, actions);
}

void RankMachine::BeginEpoch(Clock clock, uint64_t record,
                             RankActions* actions) {
  phase_ = Phase::kTraining;
  exhausted_ = false;
  next_clock_ = clock;
  position_ = record;
  epoch_begun_.reset();
  train_seconds_ = 0;
  if (clock.step == 0) sums_ = MetricSums();
  if (absl::Status status = train_.Open(clock.epoch, record); !status.ok()) {
    return End(Where(status, next_clock_), actions);
  }
  FillPipeline(options_.pipeline + 1, actions);
  Advance(actions);
}

bool RankMachine::ReadAhead(RankActions* actions) {
  if (exhausted_ || phase_ == Phase::kEnded) return false;
  const bool training = phase_ == Phase::kTraining;
  std::unique_ptr<Work> work;
  if (spare_.empty()) {
    work = std::make_unique<Work>();
  } else {
    work = std::move(spare_.back());
    spare_.pop_back();
  }
  work->answered = false;
  work->clock = next_clock_;
  absl::Status status =
      training
          ? train_.Next(options_.batch_size, &work->batch)
          : validation_->Next(options_.validation_batch_size, &work->batch);
  if (status.ok() && work->batch.empty()) {
    exhausted_ = true;
    spare_.push_back(std::move(work));
    return false;
  }
  if (status.ok()) status = model_.Prepare(work->batch, &work->keys);
  if (!status.ok()) {
    End(Where(status, next_clock_), actions);
    return false;
  }
  position_ += work->batch.size();
  work->records_after = position_;
  if (training) next_clock_ = next_clock_.NextStep();
  works_.push_back(std::move(work));
  return true;
}

void RankMachine::FillPipeline(size_t depth, RankActions* actions) {
  while (works_.size() < depth && ReadAhead(actions)) {
    AddStep(std::nullopt, works_.back().get(), actions);
  }
}

void RankMachine::AddStep(std::optional<EntryPush> entry, Work* work,
                          RankActions* actions) {
  RankActions::StartStep start;
  start.id = ++last_step_;
  out_[start.id] = {.pulled = work, .has_entry = entry.has_value()};
  if (entry.has_value()) ++unacknowledged_;
  start.step.entry = std::move(entry);
  if (work != nullptr) {
    if (phase_ == Phase::kTraining && work->clock.step == 0 &&
        clock_ != nullptr) {
      epoch_begun_ = clock_->Now();
    }
    start.step.pull = ClockPull{.clock = work->clock, .keys = {}};
    for (const std::vector<Key>& keys : work->keys.tables) {
      start.step.pull->keys.push_back(keys);
    }
  }
  actions->steps.push_back(std::move(start));
}

void RankMachine::ReuseRetired() {
  std::move(retired_.begin(), retired_.end(), std::back_inserter(spare_));
  retired_.clear();
}

void RankMachine::OnStep(uint64_t id, FinishedStep finished,
                         RankActions* actions) {
  ReuseRetired();
  const auto found = out_.find(id);
  if (found == out_.end() || phase_ == Phase::kEnded) return;
  const OutStep step = found->second;
  out_.erase(found);
  if (!finished.status.ok()) {
    return End(Where(finished.status,
                     step.pulled != nullptr ? step.pulled->clock : next_clock_),
               actions);
  }
  if (step.has_entry) --unacknowledged_;
  if (step.pulled != nullptr) {
    step.pulled->answered = true;
    step.pulled->rows = std::move(finished.rows);
  }
  Advance(actions);
}

void RankMachine::Advance(RankActions* actions) {
  switch (phase_) {
    case Phase::kTraining:
      return Train(actions);
    case Phase::kEndingEpoch:
      if (unacknowledged_ == 0) EndEpoch(actions);
      return;
    case Phase::kValidating:
      return Validate(actions);
    case Phase::kDeciding:
    case Phase::kEnded:
      return;
  }
}

void RankMachine::Train(RankActions* actions) {
  while (!works_.empty() && works_.front()->answered &&
         unacknowledged_ <= options_.pipeline) {
    ComputeEntry(actions);
    if (phase_ == Phase::kEnded) return;
  }
  if (!works_.empty()) return;
  if (!exhausted_ || unacknowledged_ > 0) return;
  phase_ = Phase::kEndingEpoch;
  AddStep(EntryPush{.clock = next_clock_,
                    .ends_epoch = true,
                    .ledger = Ledger(next_clock_, position_)},
          nullptr, actions);
}

void RankMachine::ComputeEntry(RankActions* actions) {
  std::unique_ptr<Work> work = std::move(works_.front());
  works_.pop_front();
  const std::vector<absl::Span<const float>> rows = RowsOf(*work);
  EntryPush entry{.clock = work->clock, .examples = work->batch.size()};
  absl::Status status =
      model_.Gradient(work->batch, work->keys, rows, &work->gradients, &sums_);
  if (absl::IsOutOfRange(status) && options_.skip_non_finite) {
    sums_.skipped += work->batch.size();
    entry.examples = 0;
  } else if (!status.ok()) {
    return End(Where(status, work->clock), actions);
  } else {
    ClipByGlobalNorm(options_.clip_norm, &work->gradients);
    for (TableGradient& gradient : work->gradients) {
      entry.tables.push_back(
          {.keys = gradient.keys, .values = gradient.values});
      if (gradient.values.size() < kLeastOwned) continue;
      // It goes with the entry; the next one is written somewhere else.
      const auto owned =
          std::make_shared<const FloatBuffer>(std::move(gradient.values));
      entry.tables.back().values = *owned;
      entry.tables.back().owner = owned;
    }
  }
  entry.ledger = Ledger(work->clock, work->records_after);

  Work* ahead = ReadAhead(actions) ? works_.back().get() : nullptr;
  if (phase_ == Phase::kEnded) return;
  AddStep(std::move(entry), ahead, actions);
  retired_.push_back(std::move(work));
}

void RankMachine::EndEpoch(RankActions* actions) {
  if (epoch_begun_.has_value()) {
    train_seconds_ = absl::ToDoubleSeconds(clock_->Now() - *epoch_begun_);
  }
  if (options_.epoch_barrier)
    return BeginValidation(next_clock_.epoch, actions);
  NextEpoch(actions);
}

void RankMachine::NextEpoch(RankActions* actions) {
  const uint32_t epoch = next_clock_.epoch + 1;
  if (epoch >= options_.epochs) return End(absl::OkStatus(), actions);
  BeginEpoch({epoch, 0}, 0, actions);
}

void RankMachine::BeginValidation(uint32_t finished_epoch,
                                  RankActions* actions) {
  next_clock_ = Clock{finished_epoch, 0}.NextEpoch();
  if (validation_ == nullptr) return Decide(actions);
  phase_ = Phase::kValidating;
  exhausted_ = false;
  position_ = 0;
  validation_sums_ = MetricSums();
  runs_.clear();
  run_builder_ = std::make_unique<AucRunBuilder>(
      kScoresPerRun, [this](AucRun run) { runs_.push_back(std::move(run)); });
  if (absl::Status status = validation_->Open(finished_epoch, 0);
      !status.ok()) {
    return End(Where(status, next_clock_), actions);
  }
  FillPipeline(kValidationDepth, actions);
  Advance(actions);
}

void RankMachine::Validate(RankActions* actions) {
  while (!works_.empty() && works_.front()->answered) {
    std::unique_ptr<Work> work = std::move(works_.front());
    works_.pop_front();
    const std::vector<absl::Span<const float>> rows = RowsOf(*work);
    absl::Status status = model_.Score(work->batch, work->keys, rows, &scores_);
    if (status.ok()) {
      status = model_.Evaluate(work->batch.labels, scores_, &validation_sums_);
    }
    if (!status.ok()) return End(Where(status, work->clock), actions);
    for (size_t i = 0; options_.needs_auc && i < work->batch.size(); ++i) {
      run_builder_->Add(scores_[i], work->batch.labels[i] == 1.0);
    }
    spare_.push_back(std::move(work));
    FillPipeline(kValidationDepth, actions);
    if (phase_ == Phase::kEnded) return;
  }
  if (!works_.empty()) return;
  run_builder_->Finish();
  Decide(actions);
}

void RankMachine::Decide(RankActions* actions) {
  phase_ = Phase::kDeciding;
  EpochShare share{.epoch = next_clock_.epoch - 1};
  share.train_seconds = train_seconds_;
  if (validation_ != nullptr) share.validation = validation_sums_;
  share.runs = std::move(runs_);
  actions->share = std::move(share);
}

void RankMachine::OnDecision(bool stop, RankActions* actions) {
  if (phase_ != Phase::kDeciding) return;
  ReuseRetired();
  if (stop) return End(absl::OkStatus(), actions);
  next_clock_ = {next_clock_.epoch - 1, 0};
  NextEpoch(actions);
}

void RankMachine::End(absl::Status status, RankActions* actions) {
  phase_ = Phase::kEnded;
  actions->steps.clear();
  actions->ended = std::move(status);
}

v1::LedgerRecord RankMachine::Ledger(Clock clock,
                                     uint64_t records_after) const {
  v1::LedgerRecord record;
  record.mutable_clock()->set_epoch(clock.epoch);
  record.mutable_clock()->set_step(clock.step);
  record.mutable_position()->set_epoch(clock.epoch);
  record.mutable_position()->set_record(records_after);
  for (double sum : sums_.ToArray()) record.add_sums(sum);
  return record;
}

std::vector<absl::Span<const float>> RankMachine::RowsOf(
    const Work& work) const {
  return {work.rows.begin(), work.rows.end()};
}

absl::Status RankMachine::Where(const absl::Status& status, Clock clock) const {
  return Annotate(status, absl::StrCat("rank ", options_.rank, ", clock ",
                                       ToString(clock)));
}

}  // namespace seraph
