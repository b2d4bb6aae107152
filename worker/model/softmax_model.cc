#include "worker/model/softmax_model.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "worker/model/finite.h"
#include "worker/model/loss.h"

namespace seraph {
namespace {

// to[k] += a * from[k], k in [0, n). The only loop that becomes vectors: each
// class has a sum of its own, in the order of the calls, so that the bits do
// not depend on how wide the vectors are.
template <typename T>
void AddScaled(double a, const T* __restrict from, size_t n,
               double* __restrict to) {
  for (size_t k = 0; k < n; ++k) to[k] += a * static_cast<double>(from[k]);
}

}  // namespace

SoftmaxModel::SoftmaxModel(const ModelSpec& spec)
    : classes_(spec.classes.value()),
      tables_(ModelTables(spec)),
      has_bias_(spec.bias != BiasKind::kNone),
      weights_(has_bias_ ? 1 : 0),
      slopes_(classes_) {}

absl::Status SoftmaxModel::Prepare(const Batch& batch, BatchKeys* keys) {
  return feature_keys_.Find(batch, tables_, keys);
}

absl::Status SoftmaxModel::Score(const Batch& batch, const BatchKeys& keys,
                                 TableRows rows, std::vector<double>* scores) {
  const float* weights = rows[weights_].data();
  scores->assign(batch.size() * classes_, 0.0);
  for (size_t i = 0; i < batch.size(); ++i) {
    double* own = scores->data() + i * classes_;
    if (has_bias_) AddScaled(1.0, rows[0].data(), classes_, own);
    for (size_t j = batch.row_starts[i]; j < batch.row_starts[i + 1]; ++j) {
      AddScaled(batch.values[j], weights + keys.positions[j] * classes_,
                classes_, own);
    }
    for (size_t k = 0; k < classes_; ++k) {
      if (!std::isfinite(own[k])) {
        return ScoreNotFinite(i, own[k], tables_, keys, rows);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status SoftmaxModel::Gradient(const Batch& batch, const BatchKeys& keys,
                                    TableRows rows,
                                    std::vector<TableGradient>* gradients,
                                    MetricSums* sums) {
  SERAPH_RETURN_IF_ERROR(Score(batch, keys, rows, &scores_));
  MetricSums batch_sums;
  bias_sums_.Reset(1, classes_);
  weight_sums_.Reset(keys.tables[weights_].size(), classes_);
  for (size_t i = 0; i < batch.size(); ++i) {
    SERAPH_RETURN_IF_ERROR(CheckLabel(batch.labels[i], i));
    const size_t label = static_cast<size_t>(batch.labels[i]);
    const absl::Span<const double> scores =
        absl::MakeConstSpan(scores_).subspan(i * classes_, classes_);
    const double loss = CrossEntropy(scores, label, absl::MakeSpan(slopes_));
    if (!std::isfinite(loss)) {
      return LossNotFinite(i, loss, batch.labels[i]);
    }
    AddMulticlassExample(scores, label, loss, &batch_sums);
    AddScaled(1.0, slopes_.data(), classes_, bias_sums_.row(0));
    bias_sums_.Touch(0);
    for (size_t j = batch.row_starts[i]; j < batch.row_starts[i + 1]; ++j) {
      AddScaled(batch.values[j], slopes_.data(), classes_,
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
