// Additive sums over scored examples, and the metrics that they give.
//
// A rank adds up its examples of an epoch; the sums travel in its entries to
// the ledger and are added over ranks, in rank order. Every metric except AUC
// (auc.h) is a function of these sums, so that the global value is exact and no
// average of averages.
#ifndef SERAPH_COMMON_METRICS_METRIC_SUMS_H_
#define SERAPH_COMMON_METRICS_METRIC_SUMS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/model/model_spec.h"

namespace seraph {

// Counts are whole numbers in double, exact up to 2^53. A field that does not
// fit the model's task stays 0. All sums start at 0 with the epoch.
struct MetricSums {
  double examples = 0;  // Scored; those of skipped batches are not among them.
  double skipped = 0;   // Examples of batches left out as not finite.
  double bad = 0;       // Records that the reader could not read and skipped.
  double loss = 0;      // The model's own loss, without l1 and l2.

  // binary, multiclass: -log(probability of the label), the probability
  // clipped to [1e-15, 1 - 1e-15]. Not for svm, which gives no probabilities.
  double log_loss = 0;
  double correct = 0;  // binary, multiclass: the predicted class is the label.

  // binary: predicted positive where the score is > 0 (probability > 0.5).
  double true_positives = 0;
  double false_positives = 0;
  double true_negatives = 0;
  double false_negatives = 0;

  // regression, with the error f - y.
  double squared_error = 0;
  double absolute_error = 0;
  double label = 0;
  double label_squared = 0;

  void Add(const MetricSums& other);

  // The fields as a flat list, in the order of their declaration: that is the
  // form in an entry. New fields go to the end.
  static constexpr size_t kFields = 14;
  std::array<double, kFields> ToArray() const;

  // A shorter list, of an older version, leaves the last fields 0.
  // Errors: InvalidArgument for more values than fields, or one not finite.
  static absl::StatusOr<MetricSums> FromArray(absl::Span<const double> values);

  friend bool operator==(const MetricSums&, const MetricSums&) = default;
};

// Adds one example to `sums`.
//
// Requires: label 0 or 1 (binary) or in [0, scores.size()) (multiclass);
// finite scores.
void AddRegressionExample(double score, double label, double loss,
                          MetricSums* sums);
// `log_loss`: the exact -log(probability of the label); nullopt for a model
// without probabilities.
void AddBinaryExample(double score, bool positive, double loss,
                      std::optional<double> log_loss, MetricSums* sums);
// Of equal scores the first class is the predicted one.
void AddMulticlassExample(absl::Span<const double> scores, size_t label,
                          double loss, MetricSums* sums);

// What is reported, in order:
//   logistic_regression  log_loss, auc, accuracy, precision, recall, f1
//   svm                  loss, auc, accuracy, precision, recall, f1
//   softmax              log_loss, accuracy
//   linear_regression    loss, rmse, mae, r2
// `auc` is left out without a value, r2 when all labels are equal. precision,
// recall and f1 are 0 where their divisor is. Nothing without examples.
std::vector<std::pair<std::string, double>> ReportMetrics(
    ModelKind kind, const MetricSums& sums, std::optional<double> auc);

// The names that ReportMetrics can give for `kind`, in its order: what a job's
// stop.metric may name.
std::vector<absl::string_view> MetricNames(ModelKind kind);

// True where a larger value is a better one: auc, accuracy, precision, recall,
// f1, r2. False for losses and errors.
bool LargerIsBetter(absl::string_view metric);

}  // namespace seraph

#endif  // SERAPH_COMMON_METRICS_METRIC_SUMS_H_
