// A model: which keys a minibatch needs, what it scores, and its gradient.
//
// The generic training loop does
//
//   Prepare(batch, &keys);                  // Which rows?
//   rows[t] = pull of keys.tables[t];       // For each table t, by name.
//   Gradient(batch, keys, rows, &gradients, &sums);
//   push of gradients[t].keys, gradients[t].values;
//
// and evaluation and prediction the same with Score in place of Gradient. A
// new model is one class behind this interface and one line in MakeModel.
//
// Shapes:   a batch has b examples and nnz non-zeros; table t has n_t keys of
//           this batch and width w_t, its rows are [n_t * w_t] float32,
//           row-major; scores are [b * scores_per_example()].
// Numbers:  rows, values and gradients are float32; scores, losses and all sums
//           are double, added in example order and, in an example, in key
//           order. A result is a function of the arguments alone: the same on
//           every machine with the same libm, and not changed by addresses.
// Threads:  a model owns scratch memory: one thread at a time, one object for
//           each rank.
#ifndef SERAPH_WORKER_MODEL_MODEL_H_
#define SERAPH_WORKER_MODEL_MODEL_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/metrics/metric_sums.h"
#include "common/model/model_spec.h"
#include "worker/data/batch.h"
#include "worker/model/batch_keys.h"

namespace seraph {

// The pulled rows of each table, [n_t * w_t].
using TableRows = absl::Span<const absl::Span<const float>>;

class Model {
 public:
  virtual ~Model() = default;

  // By name; the index in this list is "table t" everywhere here.
  virtual const std::vector<ModelTable>& tables() const = 0;

  // 1, or the number of classes.
  virtual size_t scores_per_example() const = 0;

  // Finds the keys of `batch`. Work: O(nnz + n log n).
  //
  // Errors, which leave `keys` unspecified:
  //   OutOfRange  a key beyond a dense table's last one; it is named
  virtual absl::Status Prepare(const Batch& batch, BatchKeys* keys) = 0;

  // The gradient of the mean loss over `batch` by every row, one TableGradient
  // for each table, and the batch's losses and metrics (of the scores before
  // any update) added to `sums`. An empty batch has no keys to push.
  //
  // Errors, which leave `sums` as it was and `gradients` unspecified:
  //   InvalidArgument  a label that the model cannot have; the example is named
  //   OutOfRange       a score, loss or gradient that is not finite (as float32
  //                    for gradients); table and key are named, or the example
  // Requires: `keys` is of this batch; rows have the sizes above.
  virtual absl::Status Gradient(const Batch& batch, const BatchKeys& keys,
                                TableRows rows,
                                std::vector<TableGradient>* gradients,
                                MetricSums* sums) = 0;

  // The raw scores of the examples.
  //
  // Errors: OutOfRange as Gradient.
  virtual absl::Status Score(const Batch& batch, const BatchKeys& keys,
                             TableRows rows, std::vector<double>* scores) = 0;

  // Adds the examples with their scores (of Score) to `sums`; for frozen
  // parameters.
  //
  // Errors, which leave `sums` as it was:
  //   InvalidArgument  a label that the model cannot have; the example is named
  virtual absl::Status Evaluate(absl::Span<const double> labels,
                                absl::Span<const double> scores,
                                MetricSums* sums) const = 0;

  // What a user reads for one example, from its scores: the value
  // (linear_regression), the probability of class 1 (logistic_regression), the
  // margin (svm), the class with the highest score (softmax).
  virtual double Predict(absl::Span<const double> scores) const = 0;
};

// Requires: ModelTables(spec) may be called.
std::unique_ptr<Model> MakeModel(const ModelSpec& spec);

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_MODEL_H_
