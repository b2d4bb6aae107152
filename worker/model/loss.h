// The losses of one example, and their slopes by the score.
//
// In double throughout, with one call each of std::exp and std::log1p where
// the formula has one, element by element, so that a value does not depend on
// its place in a batch. None overflows for a finite score below 1e150.
#ifndef SERAPH_WORKER_MODEL_LOSS_H_
#define SERAPH_WORKER_MODEL_LOSS_H_

#include <cstddef>

#include "absl/types/span.h"

namespace seraph {

struct PointLoss {
  double loss = 0;
  double slope = 0;  // d loss / d score.
};

// 1/2 (f - y)^2.
PointLoss SquaredLoss(double score, double label);

// With r = f - y: 1/2 r^2 where |r| <= delta, else delta (|r| - delta / 2).
// Source: Huber, "Robust Estimation of a Location Parameter", Annals of
// Mathematical Statistics 35, 1964. Requires: delta > 0.
PointLoss HuberLoss(double score, double label, double delta);

// log(1 + exp(-s f)), s = 1 for a positive example and -1 for a negative one.
PointLoss LogLoss(double score, bool positive);

// max(0, 1 - s f); the slope where s f = 1 is 0.
PointLoss HingeLoss(double score, bool positive);

// max(0, 1 - s f)^2, without a half, as LIBLINEAR's L2-loss SVM has it (Fan et
// al., "LIBLINEAR: A Library for Large Linear Classification", JMLR 9, 2008).
PointLoss SquaredHingeLoss(double score, bool positive);

// 1 / (1 + exp(-f)), without overflow.
double Logistic(double score);

// -log(exp(f_y) / sum_k exp(f_k)), the maximum subtracted before exp, and
// slopes[k] = exp(f_k) / sum - (k == y).
//
// Requires: scores and slopes of one size, > 0; label < that size.
double CrossEntropy(absl::Span<const double> scores, size_t label,
                    absl::Span<double> slopes);

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_LOSS_H_
