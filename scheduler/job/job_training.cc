// The training phase of JobMachine.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/metrics/metric_sums.h"
#include "scheduler/job/job_machine.h"

namespace seraph {
namespace {

std::string MetricsText(const MetricValues& metrics) {
  return absl::StrJoin(metrics, " ", [](std::string* out, const auto& metric) {
    absl::StrAppend(out, metric.first, "=",
                    absl::StrFormat("%.6g", metric.second));
  });
}

std::optional<double> ValueOf(const MetricValues& metrics,
                              absl::string_view name) {
  for (const auto& [known, value] : metrics) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace

void JobMachine::Train(Moment now, Orders* out) {
  const JobSpec& spec = plan_->spec;
  progress_.emplace(spec.ranks);
  if (plan_->epoch_barrier) barrier_.emplace(ref_, spec.ranks);
  if (spec.train.stop.has_value()) {
    early_stop_.emplace(spec.train.stop->patience,
                        LargerIsBetter(spec.train.stop->metric));
  }
  Enter(JobPhase::kTraining);
  Log("training", now, out);
  epoch_began_ = now.steady;
  next_reading_ = now.steady + options_.ledger_interval;

  std::vector<Node> told;
  for (const Node& worker : worker_of_rank_) {
    if (std::find(told.begin(), told.end(), worker) != told.end()) continue;
    told.push_back(worker);
    RunRanks order{plan_, {}};
    for (uint32_t rank = 0; rank < spec.ranks; ++rank) {
      if (worker_of_rank_[rank] == worker) {
        order.ranks.push_back({.rank = rank, .attempt = 1});
      }
    }
    teardown_.Add(worker);
    book_.Send(worker, std::move(order), now, out);
  }
}

absl::Status JobMachine::CheckLife(const JobRef& job,
                                   const RankRef& rank) const {
  if (job.generation != ref_.generation) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", ref_.id, " is in generation ", ref_.generation,
                     ", the message in ", job.generation));
  }
  if (rank.rank >= view_.ranks || rank.attempt != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank.rank, " of ", view_.ranks,
                     " has no attempt ", rank.attempt));
  }
  return absl::OkStatus();
}

absl::Status JobMachine::EndRank(const JobRef& job, const RankRef& rank,
                                 uint64_t incarnation,
                                 const absl::Status& status, Moment now,
                                 Orders* out) {
  if (HasEnded(view_.state)) return absl::OkStatus();
  if (absl::Status life = CheckLife(job, rank); !life.ok()) return life;
  if (view_.phase != JobPhase::kTraining) {
    // It was done before, and this is a repeat.
    if (ranks_done_.contains(rank.rank)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("job ", ref_.id, " does not train"));
  }
  const Node& worker = worker_of_rank_[rank.rank];
  if (worker.incarnation != incarnation) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank.rank, " is run by another incarnation or worker"));
  }
  if (!status.ok()) {
    if (!ranks_done_.contains(rank.rank)) {
      Fail(absl::StrCat("rank ", rank.rank, " on worker ", worker.name, ": ",
                        status.message()),
           now, out);
    }
    return absl::OkStatus();
  }
  if (!ranks_done_.insert(rank.rank).second) return absl::OkStatus();
  if (AllRanksDone()) ReadLedgerNow(now, out);
  return absl::OkStatus();
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
    book_.Send(std::nullopt, std::move(merge), now, out);
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
  EpochEnd& end = decided_.emplace_back();
  end.seconds = train_seconds > 0 ? absl::Seconds(train_seconds)
                                  : now.steady - epoch_began_;
  if (spec.data.HasValidation()) {
    end.validation = ReportMetrics(spec.model.kind, sums, auc);
  }
  const uint32_t epoch = barrier_->epoch();
  bool stop = epoch + 1 >= spec.train.epochs;
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
    if (early_stop_->Observe(*value) && !stop) {
      stop = true;
      Log(absl::StrCat("stopped after epoch ", epoch + 1, ": ", metric,
                       " was no better for ", spec.train.stop->patience,
                       " epochs"),
          now, out);
    }
  }
  epoch_began_ = now.steady;
  barrier_->Decide(stop, out);
  ShowProgress(now, out);
  ReadLedgerNow(now, out);
}

void JobMachine::ReadLedgerNow(Moment now, Orders* out) {
  if (book_.Close(ledger_order_).has_value()) {
    // It may have been answered before what is to be read.
    out->push_back({0, ref_, std::nullopt, Abandon{ledger_order_}});
  }
  ledger_order_ =
      book_.Send(plan_->partitions.front().primary,
                 ReadLedger{progress_->finished(), AllRanksDone()}, now, out);
}

void JobMachine::OnLedger(const ReadLedger& order, const LedgerReading& reading,
                          Moment now, Orders* out) {
  next_reading_ = now.steady + options_.ledger_interval;
  if (reading.generation != ref_.generation) return;
  if (!reading.failure.empty()) return Fail(reading.failure, now, out);
  if (absl::Status taken = progress_->Take(reading, now.steady); !taken.ok()) {
    return Fail(absl::StrCat("the job's ledger: ", taken.message()), now, out);
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
  if (order.last) Export(now, out);
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

std::string JobMachine::RanksText(const Node& worker) const {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < worker_of_rank_.size(); ++rank) {
    if (worker_of_rank_[rank] == worker) ranks.push_back(rank);
  }
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ",
                      absl::StrJoin(ranks, ", "));
}

}  // namespace seraph
