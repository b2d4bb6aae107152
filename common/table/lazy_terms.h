// Terms of an optimizer that move every weight at every step, pushed or not:
// sgd's l2 and l1, adamw's weight decay.
//
// One step takes a weight that was not pushed from w to S(a w, b), where
// a = 1 - eta * decay, b = eta * shrink and S is the soft threshold
// S(x, b) = sign(x) max(0, |x| - b). Over steps s+1..T these compose to
//
//   w_T = S(D w_s, R_T - D R_s),   D = exp(L_T - L_s),
//   L_t = sum of log a_i,   R_t = a_t R_(t-1) + b_t,   L_0 = R_0 = 0,
//
// (divide |w_t| = max(0, a_t |w_(t-1)| - b_t) by the product P_t of the a_i:
// then |w| / P loses b_i / P_i at step i until it is 0, and R is P times the
// sum of those losses). So a row needs only the sums of its last step, and the
// pushed rows alone are written. L instead of P, and R instead of the sum of
// b_i / P_i, neither under- nor overflow however long the run: L grows like the
// number of steps and R is at most max(b) / (1 - max(a)), or the sum of the
// b_i.
#ifndef SERAPH_COMMON_TABLE_LAZY_TERMS_H_
#define SERAPH_COMMON_TABLE_LAZY_TERMS_H_

#include <cmath>

#include "common/table/table_spec.h"

namespace seraph {

// The running sums of a partition; part of its state, in its snapshots and
// checkpoints. Advanced once a step of the partition, also by empty ones.
struct LazySums {
  double log_decay = 0.0;  // L above.
  double shrink = 0.0;     // R above.

  friend bool operator==(const LazySums&, const LazySums&) = default;
};

// sign(w) max(0, |w| - threshold); +0 where that is zero, NaN for NaN.
inline double SoftThreshold(double w, double threshold) {
  if (std::abs(w) <= threshold) return 0.0;
  return w > 0 ? w - threshold : w + threshold;
}

// What a row that was last written at some step has yet to go through.
class LazyShift {
 public:
  LazyShift() = default;
  LazyShift(double scale, double threshold)
      : identity_(false), scale_(scale), threshold_(threshold) {}

  // Leaves every bit of every weight.
  bool IsIdentity() const { return identity_; }

  // Of any other: w becomes S(scale() w, threshold()).
  double scale() const { return scale_; }
  double threshold() const { return threshold_; }

  double operator()(double w) const {
    return identity_ ? w : SoftThreshold(w * scale_, threshold_);
  }

 private:
  bool identity_ = true;
  double scale_ = 1.0;
  double threshold_ = 0.0;
};

// The two rates, and the record that a row keeps: the sums after the step that
// wrote it, as many of them as the rates need. Immutable.
class LazyTerms {
 public:
  // None: no record, and every shift is the identity.
  LazyTerms() = default;
  // Requires: decay, shrink >= 0.
  LazyTerms(double decay, double shrink) : decay_(decay), shrink_(shrink) {}

  // Floats of a row's record: 0, 2 or 4. The doubles lie in them bit by bit.
  int record_cells() const {
    return (decay_ > 0 ? 2 : 0) + (shrink_ > 0 ? 2 : 0);
  }

  // The sums after one more step of the partition with learning rate eta.
  // Requires: eta * decay < 1.
  LazySums Advance(const LazySums& sums, double eta) const;

  // Writes a record. cells is [record_cells()], of any alignment.
  void Record(const LazySums& sums, float* cells) const;

  // Turns the record of a row of a partition with the sums `from` into that of
  // a row of one with the sums `to`, with the same terms pending:
  // Between(cells, to) is what Between(cells, from) was, up to rounding, and so
  // it stays while both partitions advance alike.
  //
  //   L' = L_to - (L_from - L),   R' = (R_to - threshold) / D
  //
  // with D and threshold those of Between. No record moves if from == to.
  void Rebase(const LazySums& from, const LazySums& to, float* cells) const;

  // From the record to `now`.
  LazyShift Between(const float* cells, const LazySums& now) const;

 private:
  // The sums that a record names; those that it has not are as in `now`.
  LazySums Recorded(const float* cells, const LazySums& now) const;

  double decay_ = 0.0;
  double shrink_ = 0.0;
};

// Those of an optimizer: sgd's l2 and l1, adamw's weight_decay.
LazyTerms LazyTermsOf(const OptimizerSpec& optimizer);

}  // namespace seraph

#endif  // SERAPH_COMMON_TABLE_LAZY_TERMS_H_
