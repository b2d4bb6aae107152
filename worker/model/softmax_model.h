// Softmax regression (multinomial logistic regression): scores W x + b of K
// classes, cross-entropy.
//
// Tables: "bias" (one key; not with BiasKind::kNone) and "weights", of width K.
// Pushes: all keys of the batch, also with gradient 0.
// Source: Bishop, "Pattern Recognition and Machine Learning", 2006, 4.3.4; the
//         gradient is equation 4.109, over the batch's size.
#ifndef SERAPH_WORKER_MODEL_SOFTMAX_MODEL_H_
#define SERAPH_WORKER_MODEL_SOFTMAX_MODEL_H_

#include <vector>

#include "worker/model/feature_keys.h"
#include "worker/model/gradient_sums.h"
#include "worker/model/model.h"

namespace seraph {

class SoftmaxModel final : public Model {
 public:
  // Requires: a valid spec of softmax with its classes.
  explicit SoftmaxModel(const ModelSpec& spec);

  const std::vector<ModelTable>& tables() const override { return tables_; }
  size_t scores_per_example() const override { return classes_; }
  absl::Status Prepare(const Batch& batch, BatchKeys* keys) override;
  absl::Status Gradient(const Batch& batch, const BatchKeys& keys,
                        TableRows rows, std::vector<TableGradient>* gradients,
                        MetricSums* sums) override;
  absl::Status Score(const Batch& batch, const BatchKeys& keys, TableRows rows,
                     std::vector<double>* scores) override;
  absl::Status Evaluate(absl::Span<const double> labels,
                        absl::Span<const double> scores,
                        MetricSums* sums) const override;
  double Predict(absl::Span<const double> scores) const override;

 private:
  // Errors: InvalidArgument for an impossible label of example `i`.
  absl::Status CheckLabel(double label, size_t i) const;

  const size_t classes_;
  const std::vector<ModelTable> tables_;
  const bool has_bias_;
  const size_t weights_;  // The index of "weights".

  FeatureKeys feature_keys_;
  std::vector<double> scores_;  // [b * classes].
  std::vector<double> slopes_;  // [classes].
  GradientSums bias_sums_;
  GradientSums weight_sums_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_SOFTMAX_MODEL_H_
