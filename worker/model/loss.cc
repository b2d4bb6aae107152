#include "worker/model/loss.h"

#include <algorithm>
#include <cmath>

namespace seraph {

PointLoss SquaredLoss(double score, double label) {
  const double error = score - label;
  return {0.5 * error * error, error};
}

PointLoss HuberLoss(double score, double label, double delta) {
  const double error = score - label;
  const double size = std::abs(error);
  if (size <= delta) return {0.5 * error * error, error};
  return {delta * (size - 0.5 * delta), std::copysign(delta, error)};
}

PointLoss LogLoss(double score, bool positive) {
  // e = exp(-|f|) <= 1 serves the loss and both branches of the logistic.
  const double e = std::exp(-std::abs(score));
  const double margin = positive ? score : -score;
  const double loss = std::log1p(e) + std::max(-margin, 0.0);
  // 1 - logistic(margin), without the cancellation near 1.
  const double miss = margin >= 0 ? e / (1 + e) : 1 / (1 + e);
  return {loss, positive ? -miss : miss};
}

PointLoss HingeLoss(double score, bool positive) {
  const double miss = 1 - (positive ? score : -score);
  if (!(miss > 0)) return {0, 0};
  return {miss, positive ? -1.0 : 1.0};
}

PointLoss SquaredHingeLoss(double score, bool positive) {
  const double miss = 1 - (positive ? score : -score);
  if (!(miss > 0)) return {0, 0};
  return {miss * miss, positive ? -2 * miss : 2 * miss};
}

double Logistic(double score) {
  const double e = std::exp(-std::abs(score));
  return score >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double CrossEntropy(absl::Span<const double> scores, size_t label,
                    absl::Span<double> slopes) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (size_t k = 0; k < scores.size(); ++k) {
    slopes[k] = std::exp(scores[k] - most);
    sum += slopes[k];
  }
  for (double& slope : slopes) slope /= sum;
  slopes[label] -= 1;
  // Rounding must not make a loss below zero of a certain prediction.
  return std::max(0.0, std::log(sum) + (most - scores[label]));
}

}  // namespace seraph
