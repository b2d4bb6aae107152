#include "worker/model/softmax_model.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "worker/model/finite.h"
#include "worker/model/loss.h"

namespace seraph {
namespace {

// Doubles of one vector of the baseline (x86-64-v3).
constexpr size_t kLanes = 4;

// to[k] += a * from[k]. The loop over classes is the only one that becomes
// vectors: each class has its own sum, in the order of the calls, so that the
// bits do not depend on how wide those are.
void AddScaled(double a, const double* __restrict from, size_t stride,
               double* __restrict to) {
  for (size_t block = 0; block < stride; block += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      to[block + lane] += a * from[block + lane];
    }
  }
}

}  // namespace

SoftmaxModel::SoftmaxModel(const ModelSpec& spec)
    : classes_(spec.classes.value()),
      stride_((classes_ + kLanes - 1) / kLanes * kLanes),
      tables_(ModelTables(spec)),
      has_bias_(spec.bias != BiasKind::kNone),
      weights_(has_bias_ ? 1 : 0),
      bias_(stride_, 0.0),
      padded_scores_(stride_, 0.0),
      slopes_(stride_, 0.0) {}

absl::Status SoftmaxModel::Prepare(const Batch& batch, BatchKeys* keys) {
  return feature_keys_.Find(batch, tables_, keys);
}

void SoftmaxModel::Widen(TableRows rows) {
  if (has_bias_) std::copy(rows[0].begin(), rows[0].end(), bias_.begin());
  const size_t n = rows[weights_].size() / classes_;
  wide_.assign(n * stride_, 0.0);
  for (size_t i = 0; i < n; ++i) {
    std::copy_n(rows[weights_].data() + i * classes_, classes_,
                wide_.data() + i * stride_);
  }
}

absl::Status SoftmaxModel::ScoreExample(const Batch& batch,
                                        const BatchKeys& keys, TableRows rows,
                                        size_t i) {
  std::copy(bias_.begin(), bias_.end(), padded_scores_.begin());
  for (size_t j = batch.row_starts[i]; j < batch.row_starts[i + 1]; ++j) {
    AddScaled(batch.values[j], wide_.data() + keys.positions[j] * stride_,
              stride_, padded_scores_.data());
  }
  for (size_t k = 0; k < classes_; ++k) {
    if (!std::isfinite(padded_scores_[k])) {
      return ScoreNotFinite(i, padded_scores_[k], tables_, keys, rows);
    }
  }
  return absl::OkStatus();
}

absl::Status SoftmaxModel::Score(const Batch& batch, const BatchKeys& keys,
                                 TableRows rows, std::vector<double>* scores) {
  Widen(rows);
  scores->resize(batch.size() * classes_);
  for (size_t i = 0; i < batch.size(); ++i) {
    SERAPH_RETURN_IF_ERROR(ScoreExample(batch, keys, rows, i));
    std::copy_n(padded_scores_.begin(), classes_,
                scores->begin() + i * classes_);
  }
  return absl::OkStatus();
}

absl::Status SoftmaxModel::Gradient(const Batch& batch, const BatchKeys& keys,
                                    TableRows rows,
                                    std::vector<TableGradient>* gradients,
                                    MetricSums* sums) {
  Widen(rows);
  MetricSums batch_sums;
  bias_sums_.Reset(1, stride_);
  weight_sums_.Reset(keys.tables[weights_].size(), stride_);
  const absl::Span<const double> scores =
      absl::MakeConstSpan(padded_scores_).first(classes_);
  for (size_t i = 0; i < batch.size(); ++i) {
    SERAPH_RETURN_IF_ERROR(CheckLabel(batch.labels[i], i));
    const size_t label = static_cast<size_t>(batch.labels[i]);
    SERAPH_RETURN_IF_ERROR(ScoreExample(batch, keys, rows, i));
    const double loss =
        CrossEntropy(scores, label, absl::MakeSpan(slopes_).first(classes_));
    if (!std::isfinite(loss)) {
      return LossNotFinite(i, loss, batch.labels[i]);
    }
    AddMulticlassExample(scores, label, loss, &batch_sums);
    AddScaled(1.0, slopes_.data(), stride_, bias_sums_.row(0));
    bias_sums_.Touch(0);
    for (size_t j = batch.row_starts[i]; j < batch.row_starts[i + 1]; ++j) {
      AddScaled(batch.values[j], slopes_.data(), stride_,
                weight_sums_.row(keys.positions[j]));
    }
  }

  gradients->resize(tables_.size());
  if (has_bias_) {
    SERAPH_RETURN_IF_ERROR(bias_sums_.FinishTouched(
        tables_[0], keys.tables[0], batch.size(), &(*gradients)[0]));
  }
  SERAPH_RETURN_IF_ERROR(
      weight_sums_.Finish(tables_[weights_], keys.tables[weights_],
                          batch.size(), &(*gradients)[weights_]));
  sums->Add(batch_sums);
  return absl::OkStatus();
}

absl::Status SoftmaxModel::Evaluate(absl::Span<const double> labels,
                                    absl::Span<const double> scores,
                                    MetricSums* sums) const {
  MetricSums batch_sums;
  std::vector<double> slopes(classes_);
  for (size_t i = 0; i < labels.size(); ++i) {
    SERAPH_RETURN_IF_ERROR(CheckLabel(labels[i], i));
    const size_t label = static_cast<size_t>(labels[i]);
    const absl::Span<const double> own = scores.subspan(i * classes_, classes_);
    AddMulticlassExample(own, label,
                         CrossEntropy(own, label, absl::MakeSpan(slopes)),
                         &batch_sums);
  }
  sums->Add(batch_sums);
  return absl::OkStatus();
}

double SoftmaxModel::Predict(absl::Span<const double> scores) const {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

absl::Status SoftmaxModel::CheckLabel(double label, size_t i) const {
  if (label >= 0 && label < static_cast<double>(classes_) &&
      label == std::floor(label)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("example ", i, " of the batch: label ", label,
                   " is not one of the classes 0 to ", classes_ - 1));
}

}  // namespace seraph
