#include "worker/model/linear_model.h"

#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "worker/model/finite.h"

namespace seraph {

LinearModel::LinearModel(const ModelSpec& spec)
    : spec_(spec),
      loss_(LossOf(spec)),
      task_(TaskOf(spec.kind)),
      tables_(ModelTables(spec)),
      has_bias_(spec.bias != BiasKind::kNone),
      weights_(has_bias_ ? 1 : 0) {}

absl::Status LinearModel::Prepare(const Batch& batch, BatchKeys* keys) {
  return feature_keys_.Find(batch, tables_, keys);
}

absl::Status LinearModel::Score(const Batch& batch, const BatchKeys& keys,
                                TableRows rows, std::vector<double>* scores) {
  const double bias = has_bias_ ? rows[0][0] : 0.0;
  const float* weights = rows[weights_].data();
  scores->resize(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    double score = bias;
    for (size_t j = batch.row_starts[i]; j < batch.row_starts[i + 1]; ++j) {
      score += static_cast<double>(weights[keys.positions[j]]) *
               static_cast<double>(batch.values[j]);
    }
    if (!std::isfinite(score)) {
      return ScoreNotFinite(i, score, tables_, keys, rows);
    }
    (*scores)[i] = score;
  }
  return absl::OkStatus();
}

absl::Status LinearModel::Gradient(const Batch& batch, const BatchKeys& keys,
                                   TableRows rows,
                                   std::vector<TableGradient>* gradients,
                                   MetricSums* sums) {
  SERAPH_RETURN_IF_ERROR(Score(batch, keys, rows, &scores_));
  MetricSums batch_sums;
  bias_sums_.Reset(1, /*width=*/1);
  weight_sums_.Reset(keys.tables[weights_].size(), /*width=*/1);
  double* const sum_of = weight_sums_.row(0);
  const bool violated_only = spec_.kind == ModelKind::kSvm;
  for (size_t i = 0; i < batch.size(); ++i) {
    const double label = batch.labels[i];
    SERAPH_RETURN_IF_ERROR(CheckLabel(label, i));
    const PointLoss at = LossAt(scores_[i], label);
    if (!std::isfinite(at.loss)) return LossNotFinite(i, at.loss, label);
    AddExample(scores_[i], label, at.loss, &batch_sums);
    if (violated_only && at.slope == 0) continue;
    *bias_sums_.row(0) += at.slope;
    bias_sums_.Touch(0);
    for (size_t j = batch.row_starts[i]; j < batch.row_starts[i + 1]; ++j) {
      sum_of[keys.positions[j]] +=
          at.slope * static_cast<double>(batch.values[j]);
    }
    if (!violated_only) continue;
    for (size_t j = batch.row_starts[i]; j < batch.row_starts[i + 1]; ++j) {
      weight_sums_.Touch(keys.positions[j]);
    }
  }

  gradients->resize(tables_.size());
  if (has_bias_) {
    SERAPH_RETURN_IF_ERROR(bias_sums_.FinishTouched(
        tables_[0], keys.tables[0], batch.size(), &(*gradients)[0]));
  }
  const auto finish =
      violated_only ? &GradientSums::FinishTouched : &GradientSums::Finish;
  SERAPH_RETURN_IF_ERROR(
      (weight_sums_.*finish)(tables_[weights_], keys.tables[weights_],
                             batch.size(), &(*gradients)[weights_]));
  sums->Add(batch_sums);
  return absl::OkStatus();
}

absl::Status LinearModel::Evaluate(absl::Span<const double> labels,
                                   absl::Span<const double> scores,
                                   MetricSums* sums) const {
  MetricSums batch_sums;
  for (size_t i = 0; i < labels.size(); ++i) {
    SERAPH_RETURN_IF_ERROR(CheckLabel(labels[i], i));
    AddExample(scores[i], labels[i], LossAt(scores[i], labels[i]).loss,
               &batch_sums);
  }
  sums->Add(batch_sums);
  return absl::OkStatus();
}

double LinearModel::Predict(absl::Span<const double> scores) const {
  return spec_.kind == ModelKind::kLogisticRegression ? Logistic(scores[0])
                                                      : scores[0];
}

absl::Status LinearModel::CheckLabel(double label, size_t i) const {
  const bool possible = task_ == TaskKind::kBinary ? label == 0 || label == 1
                                                   : std::isfinite(label);
  if (possible) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "example ", i, " of the batch: label ", label, " is ",
      task_ == TaskKind::kBinary ? "neither 0 nor 1" : "not a finite number"));
}

PointLoss LinearModel::LossAt(double score, double label) const {
  const bool positive = label == 1;
  switch (loss_) {
    case LossKind::kSquared:
      return SquaredLoss(score, label);
    case LossKind::kHuber:
      return HuberLoss(score, label, spec_.huber_delta);
    case LossKind::kLog:
      return LogLoss(score, positive);
    case LossKind::kHinge:
      return HingeLoss(score, positive);
    case LossKind::kSquaredHinge:
      return SquaredHingeLoss(score, positive);
    case LossKind::kCrossEntropy:
      break;  // Of softmax, which is another class.
  }
  return {};
}

void LinearModel::AddExample(double score, double label, double loss,
                             MetricSums* sums) const {
  if (task_ == TaskKind::kRegression) {
    AddRegressionExample(score, label, loss, sums);
  } else {
    AddBinaryExample(
        score, label == 1, loss,
        loss_ == LossKind::kLog ? std::optional<double>(loss) : std::nullopt,
        sums);
  }
}

}  // namespace seraph
