// Models whose score is w.x + b: linear regression, logistic regression, svm.
//
// Tables: "bias" (one key; not with BiasKind::kNone) and "weights", of width 1.
// Pushes:  all keys of the batch, also with gradient 0; an svm those of the
//          examples that violate their margin, and none if none does.
#ifndef SERAPH_WORKER_MODEL_LINEAR_MODEL_H_
#define SERAPH_WORKER_MODEL_LINEAR_MODEL_H_

#include <vector>

#include "worker/model/feature_keys.h"
#include "worker/model/gradient_sums.h"
#include "worker/model/loss.h"
#include "worker/model/model.h"

namespace seraph {

class LinearModel final : public Model {
 public:
  // Requires: a valid spec of another kind than softmax.
  explicit LinearModel(const ModelSpec& spec);

  const std::vector<ModelTable>& tables() const override { return tables_; }
  size_t scores_per_example() const override { return 1; }
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
  // Requires: CheckLabel is OK.
  PointLoss LossAt(double score, double label) const;
  void AddExample(double score, double label, double loss,
                  MetricSums* sums) const;

  const ModelSpec spec_;
  const LossKind loss_;
  const TaskKind task_;
  const std::vector<ModelTable> tables_;
  const bool has_bias_;
  const size_t weights_;  // The index of "weights".

  FeatureKeys feature_keys_;
  std::vector<double> scores_;
  GradientSums bias_sums_;
  GradientSums weight_sums_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_LINEAR_MODEL_H_
