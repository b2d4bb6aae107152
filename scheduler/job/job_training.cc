// The training phase of JobMachine.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/metrics/metric_sums.h"
#include "common/status/errors.h"
#include "scheduler/job/job_machine.h"

namespace seraph {
namespace {

std::string MetricsText(const MetricValues& metrics) {
  return absl::StrJoin(metrics, " ", [](std::string* out, const auto& metric) {
    absl::StrAppend(out, metric.first, "=",
                    absl::StrFormat("%.6g", metric.second));
  });
}

// Clocks from the start of the job.
uint64_t ClocksOf(Clock clock, uint64_t steps_per_epoch) {
  return clock.epoch * steps_per_epoch + clock.step;
}

std::optional<double> ValueOf(const MetricValues& metrics,
                              absl::string_view name) {
  for (const auto& [known, value] : metrics) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace

void JobMachine::BeginTraining(Moment now) {
  const JobSpec& spec = plan_->spec;
  if (!progress_.has_value()) progress_.emplace(spec.ranks);
  const bool stopped = !decided_.empty() && decided_.back().stop;
  barrier_.reset();
  if (plan_->epoch_barrier) {
    barrier_.emplace(ref_, spec.ranks, decided_.size(), stopped);
  }
  early_stop_.reset();
  if (spec.train.stop.has_value()) {
    early_stop_.emplace(spec.train.stop->patience,
                        LargerIsBetter(spec.train.stop->metric));
    if (!decided_.empty()) {
      early_stop_->Restore(decided_.back().best,
                           decided_.back().epochs_without);
    }
  }
  cuts_ = std::make_unique<CheckpointMachine>(CheckpointMachine::Options{
      .directory = CheckpointPath(spec, plan_->base_directory,
                                  options_.checkpoint_directory, ref_.id),
      .keep = spec.checkpoint.value_or(CheckpointSpec()).keep,
      .one_clock = spec.sync.mode == SyncMode::kBsp});
  ledger_complete_ = false;
  cut_clocks_ = 0;
  if (origin_.has_value()) NoteClocks(origin_->clocks);
  Enter(JobPhase::kTraining);
  epoch_began_ = now.steady;
  next_reading_ = now.steady + options_.ledger_interval;
  roster_.Excuse(now.steady);
}

void JobMachine::Train(Moment now, Orders* out) {
  BeginTraining(now);
  Log("training", now, out);
  for (const Node& worker : roster_.Workers()) {
    RunRanksOn(worker, roster_.RanksOf(worker), now, out);
  }
}

absl::Status JobMachine::ShareEpoch(const JobRef& job, EpochReport share,
                                    uint64_t waiter, Moment now, Orders* out) {
  if (absl::Status life = CheckLife(job, share.rank); !life.ok()) return life;
  if (HasEnded(view_.state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", ref_.id, " has ended: ", JobStateName(view_.state)));
  }
  if (view_.phase != JobPhase::kTraining || !barrier_.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "ranks of job ", ref_.id, " do not meet at the end of an epoch"));
  }
  if (const auto sums = MetricSums::FromArray(share.sums); !sums.ok()) {
    return sums.status();
  }
  if (plan_->spec.data.HasValidation() && share.sums.empty()) {
    return absl::InvalidArgumentError("the share has no validation sums");
  }
  const bool was_complete = barrier_->complete();
  if (absl::Status taken = barrier_->Take(std::move(share), waiter, out);
      !taken.ok()) {
    return taken;
  }
  if (was_complete || !barrier_->complete()) return absl::OkStatus();
  MergeScores merge;
  for (const auto& [rank, taken] : barrier_->shares()) {
    if (!taken.run_file.empty()) merge.files.push_back(taken.run_file);
  }
  if (merge.files.empty()) {
    DecideEpoch(std::nullopt, now, out);
  } else {
    book_->Send(std::nullopt, std::move(merge), now, out);
  }
  return absl::OkStatus();
}

void JobMachine::OnMerged(const MergedScores& scores, Moment now, Orders* out) {
  if (view_.phase == JobPhase::kTraining) DecideEpoch(scores.auc, now, out);
}

void JobMachine::DecideEpoch(std::optional<double> auc, Moment now,
                             Orders* out) {
  const JobSpec& spec = plan_->spec;
  MetricSums sums;
  double train_seconds = 0;
  for (const auto& [rank, share] : barrier_->shares()) {
    sums.Add(*MetricSums::FromArray(share.sums));  // Checked when it came.
    train_seconds = std::max(train_seconds, share.train_seconds);
  }
  EpochDecision end;
  end.seconds = train_seconds > 0 ? absl::Seconds(train_seconds)
                                  : now.steady - epoch_began_;
  if (spec.data.HasValidation()) {
    end.validation = ReportMetrics(spec.model.kind, sums, auc);
  }
  const uint32_t epoch = barrier_->epoch();
  end.stop = epoch + 1 >= spec.train.epochs;
  if (early_stop_.has_value()) {
    const std::string& metric = spec.train.stop->metric;
    const std::optional<double> value = ValueOf(end.validation, metric);
    if (!value.has_value()) {
      return Fail(
          absl::StrCat("train.stop.metric ", metric,
                       " has no value on the validation data of epoch ",
                       epoch + 1, "; choose another metric or other data"),
          now, out);
    }
    if (early_stop_->Observe(*value) && !end.stop) {
      end.stop = true;
      Log(absl::StrCat("stopped after epoch ", epoch + 1, ": ", metric,
                       " was no better for ", spec.train.stop->patience,
                       " epochs"),
          now, out);
    }
    end.best = early_stop_->best();
    end.epochs_without = early_stop_->epochs_without();
  }
  const bool stop = end.stop;
  decided_.push_back(std::move(end));
  epoch_began_ = now.steady;
  let_go_ = stop;
  if (!CutAtEpochsEnd(now, out)) LetRanksGo(stop, now, out);
}

void JobMachine::LetRanksGo(bool stop, Moment now, Orders* out) {
  let_go_.reset();
  epoch_began_ = now.steady;
  roster_.Excuse(now.steady);
  barrier_->Decide(stop, out);
  ShowProgress(now, out);
  ReadLedgerNow(now, out);
}

void JobMachine::ReadLedgerNow(Moment now, Orders* out) {
  if (book_->Close(ledger_order_).has_value()) {
    // It may have been answered before what is to be read.
    out->push_back({0, ref_, std::nullopt, Abandon{ledger_order_}});
  }
  next_reading_ = now.steady + options_.ledger_interval;
  const Node& primary = plan_->partitions.front().primary;
  if (primary.incarnation == 0) return;  // One is being chosen.
  teardown_->Add(primary);
  ledger_order_ = book_->Send(
      primary, ReadLedger{progress_->finished(), roster_.AllDone()}, now, out);
}

void JobMachine::OnLedger(const ReadLedger& order, const LedgerReading& reading,
                          Moment now, Orders* out) {
  next_reading_ = now.steady + options_.ledger_interval;
  if (reading.generation != ref_.generation) return;
  if (!reading.failure.empty()) return Fail(reading.failure, now, out);
  if (absl::Status taken = progress_->Take(reading, now.steady); !taken.ok()) {
    return Fail(absl::StrCat("the job's ledger: ", taken.message()), now, out);
  }
  std::vector<Clock> clocks;
  for (const RankReading& rank : reading.ranks) clocks.push_back(rank.clock);
  roster_.See(clocks, now.steady);
  for (size_t rank = 0; rank < clocks.size(); ++rank) {
    const Clock before = origin_.has_value() ? origin_->clocks[rank] : Clock();
    if (clocks[rank] > before) times_back_ = 0;
  }
  if (reading.skipped_rows > 0) {
    const std::string warning =
        absl::StrCat(reading.skipped_rows,
                     " updates of rows were left out: they were not finite");
    std::erase_if(view_.warnings, [](const std::string& known) {
      return known.ends_with("they were not finite");
    });
    view_.warnings.push_back(warning);
  }
  ShowProgress(now, out);
  const std::optional<CheckpointSpec>& checkpoint = plan_->spec.checkpoint;
  if (checkpoint.has_value() && checkpoint->every_clocks > 0 &&
      ClocksOf(*std::min_element(clocks.begin(), clocks.end()),
               plan_->steps_per_epoch) >=
          cut_clocks_ + checkpoint->every_clocks) {
    cut_owed_ = true;
  }
  CheckpointSteps steps;
  SendManifestIfReady(&steps);
  Apply(steps, now, out);
  if (!order.last || view_.phase != JobPhase::kTraining) return;
  ledger_complete_ = true;
  Export(now, out);
}

void JobMachine::ShowProgress(Moment now, Orders* out) {
  const ModelKind kind = plan_->spec.model.kind;
  // Without a barrier epochs are seen to end by looking at the ledger now and
  // then: those that ended in between have shared the time.
  const auto seen = progress_->finished() - view_.epochs.size();
  const absl::Duration share =
      (now.steady - epoch_began_) / std::max<int64_t>(1, seen);
  while (view_.epochs.size() < progress_->finished()) {
    const uint32_t epoch = view_.epochs.size();
    if (barrier_.has_value() && epoch >= decided_.size()) break;
    const MetricSums& sums = progress_->EpochSums(epoch);
    EpochView& shown = view_.epochs.emplace_back();
    shown.epoch = epoch + 1;
    shown.examples = static_cast<uint64_t>(sums.examples);
    shown.train = ReportMetrics(kind, sums, std::nullopt);
    if (barrier_.has_value()) {
      shown.seconds = decided_[epoch].seconds;
      shown.validation = decided_[epoch].validation;
    } else {
      shown.seconds = share;
      epoch_began_ += share;
    }
    Log(absl::StrCat(
            "epoch ", shown.epoch, ": ", shown.examples, " examples, train ",
            MetricsText(shown.train),
            shown.validation.empty()
                ? ""
                : absl::StrCat(", validation ", MetricsText(shown.validation))),
        now, out);
  }
  const bool is_current = view_.epochs.size() == progress_->finished();
  const MetricSums& running = progress_->Running();
  view_.epoch_examples = is_current ? static_cast<uint64_t>(running.examples)
                                    : view_.epoch_examples_total;
  if (is_current) view_.running = ReportMetrics(kind, running, std::nullopt);
  view_.examples_per_second = progress_->examples_per_second();
  Changed();
}

void JobMachine::Export(Moment now, Orders* out) {
  if (view_.phase != JobPhase::kExporting) {
    Enter(JobPhase::kExporting);
    Log("exporting", now, out);
    export_since_ = now.steady;
  }
  export_at_.reset();
  if (!map_->AllLed()) {
    export_at_ = now.steady;
    return;
  }
  export_order_ = book_->Send(std::nullopt, ExportModel{plan_}, now, out);
}

void JobMachine::OnExportFailure(ClosedOrder closed, const absl::Status& status,
                                 Moment now, Orders* out) {
  // A server is out of reach, or was replaced meanwhile: what that means is
  // about to be told.
  const bool passing = IsTransient(status);
  if (std::holds_alternative<LoadInitModel>(closed.order.body)) {
    if (passing && book_->Retry(std::move(closed), now)) return;
  } else if (passing && now.steady - export_since_ < options_.retry.give_up) {
    export_at_ = now.steady + options_.retry.pause_max;
    return;
  }
  const bool full = status.code() == absl::StatusCode::kResourceExhausted;
  Fail(absl::StrCat(status.message(),
                    full ? "; free some space and submit the job again" : ""),
       now, out);
}

void JobMachine::PublishIfReady(Moment now, Orders* out) {
  if (exported_ == 0 || publishing_) return;
  // The last checkpoint is finished first.
  if (!cuts_->idle() || cut_owed_ || !asking_.empty()) return;
  publishing_ = true;
  view_.phase_fraction = 1;
  Changed();
  JobView record = view_;
  record.state = JobState::kSucceeded;
  record.phase = JobPhase::kEnded;
  record.ended = now.wall;
  book_->Send(std::nullopt, PublishModel{exported_, plan_, std::move(record)},
              now, out);
}

void JobMachine::OnPublished(const Published& published, Moment now,
                             Orders* out) {
  view_.model_path = ModelPath(request_->spec, request_->base_directory);
  view_.model_digest = published.digest;
  if (!published.warning.empty()) Warn(published.warning, now, out);
  Log(absl::StrCat("succeeded: ", view_.model_path, " ", view_.model_digest),
      now, out);
  End(JobState::kSucceeded, now, out);
}

}  // namespace seraph
