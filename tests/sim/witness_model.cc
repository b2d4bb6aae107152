#include "tests/sim/witness_model.h"

#include <utility>

namespace seraph::testing {

absl::Status WitnessStream::Open(uint32_t epoch, uint64_t record) {
  epoch_ = epoch;
  next_ = record;
  return absl::OkStatus();
}

absl::Status WitnessStream::Next(size_t n, Batch* batch) {
  batch->Clear();
  if (next_ >= records_) return absl::OkStatus();
  const Clock clock{epoch_, static_cast<uint32_t>(next_++)};
  batch->labels.push_back(LabelOf(clock));
  batch->row_starts.push_back(0);
  return absl::OkStatus();
}

WitnessModel::WitnessModel(const WitnessJob* job, WitnessChecker* checker,
                           WitnessChecker::Who who)
    : job_(*job), checker_(*checker), who_(who) {
  for (const TableSpec& table : job_.tables) {
    tables_.push_back({.name = table.name,
                       .kind = table.kind,
                       .keys = table.keys,
                       .width = table.width});
  }
}

absl::Status WitnessModel::Prepare(const Batch& batch, BatchKeys* keys) {
  keys->tables.assign(tables_.size(), {});
  keys->positions.clear();
  if (batch.empty()) return absl::OkStatus();
  const Clock clock = WitnessStream::ClockOf(batch.labels.front());
  for (uint32_t t = 0; t < tables_.size(); ++t) {
    keys->tables[t] = job_.Pulled(who_.rank, clock.step, t);
  }
  return absl::OkStatus();
}

absl::Status WitnessModel::Gradient(const Batch& batch, const BatchKeys& keys,
                                    TableRows rows,
                                    std::vector<TableGradient>* gradients,
                                    MetricSums* sums) {
  const Clock clock = WitnessStream::ClockOf(batch.labels.front());
  checker_.PullEnds(who_, clock, keys.tables, rows);
  checker_.PushStarts(who_, clock);
  gradients->clear();
  for (uint32_t t = 0; t < tables_.size(); ++t) {
    TableGradient& gradient = gradients->emplace_back();
    gradient.own_keys = job_.Pushed(who_.rank, clock, who_.attempt, t);
    gradient.keys = gradient.own_keys;
    gradient.values =
        job_.Values(who_.rank, clock, who_.attempt, gradient.own_keys.size());
  }
  sums->examples += batch.size();
  return absl::OkStatus();
}

absl::Status WitnessModel::Score(const Batch& batch, const BatchKeys& keys,
                                 TableRows rows, std::vector<double>* scores) {
  const Clock finished = WitnessStream::ClockOf(batch.labels.front());
  const Clock clock = Clock{finished.epoch, 0}.NextEpoch();
  if (finished.step == 0) saw_later_ = false;
  checker_.PullEnds(who_, clock, keys.tables, rows);
  for (uint32_t t = 0; t < tables_.size(); ++t) {
    for (size_t i = 0; i < rows[t].size(); ++i) {
      const uint32_t column = i % job_.width();
      if (rows[t][i] == 0 || column >= job_.columns()) continue;
      const auto [rank, other] = job_.OfColumn(column);
      saw_later_ = saw_later_ || other >= clock;
    }
  }
  scores->assign(batch.size(), 0);
  return absl::OkStatus();
}

absl::Status WitnessModel::Evaluate(absl::Span<const double> labels,
                                    absl::Span<const double> scores,
                                    MetricSums* sums) const {
  sums->examples += labels.size();
  // A loss that becomes worse at once: a job that may stop early does.
  for (double label : labels) {
    sums->loss += 1 + WitnessStream::ClockOf(label).epoch;
    sums->log_loss += 1 + WitnessStream::ClockOf(label).epoch;
  }
  return absl::OkStatus();
}

}  // namespace seraph::testing
