#include "common/metrics/metric_sums.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

// The fields in the order of their declaration; the one list of them.
constexpr std::array<double MetricSums::*, MetricSums::kFields> kOrder = {
    &MetricSums::examples,
    &MetricSums::skipped,
    &MetricSums::bad,
    &MetricSums::loss,
    &MetricSums::log_loss,
    &MetricSums::correct,
    &MetricSums::true_positives,
    &MetricSums::false_positives,
    &MetricSums::true_negatives,
    &MetricSums::false_negatives,
    &MetricSums::squared_error,
    &MetricSums::absolute_error,
    &MetricSums::label,
    &MetricSums::label_squared,
};
static_assert(sizeof(MetricSums) == MetricSums::kFields * sizeof(double));

// -log of a probability clipped to [1e-15, 1 - 1e-15], from its exact -log.
double Clipped(double log_loss) {
  static const double kMost = -std::log(1e-15);
  static const double kLeast = -std::log1p(-1e-15);
  return std::clamp(log_loss, kLeast, kMost);
}

double Ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

}  // namespace

void MetricSums::Add(const MetricSums& other) {
  for (double MetricSums::*field : kOrder) this->*field += other.*field;
}

std::array<double, MetricSums::kFields> MetricSums::ToArray() const {
  std::array<double, kFields> values;
  for (size_t i = 0; i < kFields; ++i) values[i] = this->*kOrder[i];
  return values;
}

absl::StatusOr<MetricSums> MetricSums::FromArray(
    absl::Span<const double> values) {
  if (values.size() > kFields) {
    return absl::InvalidArgumentError(absl::StrCat(
        values.size(), " metric sums; this version knows ", kFields));
  }
  MetricSums sums;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("metric sum ", i, " is ", values[i]));
    }
    sums.*kOrder[i] = values[i];
  }
  return sums;
}

void AddRegressionExample(double score, double label, double loss,
                          MetricSums* sums) {
  const double error = score - label;
  sums->examples += 1;
  sums->loss += loss;
  sums->squared_error += error * error;
  sums->absolute_error += std::abs(error);
  sums->label += label;
  sums->label_squared += label * label;
}

void AddBinaryExample(double score, bool positive, double loss,
                      std::optional<double> log_loss, MetricSums* sums) {
  const bool predicted = score > 0;
  sums->examples += 1;
  sums->loss += loss;
  if (log_loss.has_value()) sums->log_loss += Clipped(*log_loss);
  if (predicted == positive) sums->correct += 1;
  if (predicted) {
    (positive ? sums->true_positives : sums->false_positives) += 1;
  } else {
    (positive ? sums->false_negatives : sums->true_negatives) += 1;
  }
}

void AddMulticlassExample(absl::Span<const double> scores, size_t label,
                          double loss, MetricSums* sums) {
  const size_t predicted =
      std::max_element(scores.begin(), scores.end()) - scores.begin();
  sums->examples += 1;
  sums->loss += loss;
  sums->log_loss += Clipped(loss);
  if (predicted == label) sums->correct += 1;
}

std::vector<std::pair<std::string, double>> ReportMetrics(
    ModelKind kind, const MetricSums& sums, std::optional<double> auc) {
  std::vector<std::pair<std::string, double>> report;
  const double n = sums.examples;
  if (n <= 0) return report;
  const double predicted = sums.true_positives + sums.false_positives;
  const double positive = sums.true_positives + sums.false_negatives;
  const double label_spread =
      sums.label_squared - sums.label * (sums.label / n);
  for (absl::string_view name : MetricNames(kind)) {
    double value = 0;
    if (name == "loss") {
      value = sums.loss / n;
    } else if (name == "log_loss") {
      value = sums.log_loss / n;
    } else if (name == "auc") {
      if (!auc.has_value()) continue;
      value = *auc;
    } else if (name == "accuracy") {
      value = sums.correct / n;
    } else if (name == "precision") {
      value = Ratio(sums.true_positives, predicted);
    } else if (name == "recall") {
      value = Ratio(sums.true_positives, positive);
    } else if (name == "f1") {
      value = Ratio(2 * sums.true_positives, predicted + positive);
    } else if (name == "rmse") {
      value = std::sqrt(sums.squared_error / n);
    } else if (name == "mae") {
      value = sums.absolute_error / n;
    } else if (name == "r2") {
      // The rounding of the two sums may leave this much of equal labels.
      if (label_spread <= 1e-12 * sums.label_squared) continue;
      value = 1 - sums.squared_error / label_spread;
    }
    report.emplace_back(std::string(name), value);
  }
  return report;
}

std::vector<absl::string_view> MetricNames(ModelKind kind) {
  switch (kind) {
    case ModelKind::kLogisticRegression:
      return {"log_loss", "auc", "accuracy", "precision", "recall", "f1"};
    case ModelKind::kSvm:
      return {"loss", "auc", "accuracy", "precision", "recall", "f1"};
    case ModelKind::kSoftmax:
      return {"log_loss", "accuracy"};
    case ModelKind::kLinearRegression:
      return {"loss", "rmse", "mae", "r2"};
  }
  return {};
}

bool LargerIsBetter(absl::string_view metric) {
  return metric == "auc" || metric == "accuracy" || metric == "precision" ||
         metric == "recall" || metric == "f1" || metric == "r2";
}

}  // namespace seraph
