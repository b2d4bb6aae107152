// Every optimizer for a single weight, in double and eagerly, to test against.
//
// Written from the papers' and the documentation's formulas, shares no code
// with the rules, and does what they avoid: it walks every step.
#ifndef SERAPH_SERVER_UPDATE_OPTIMIZER_ORACLE_H_
#define SERAPH_SERVER_UPDATE_OPTIMIZER_ORACLE_H_

#include "common/table/table_spec.h"

namespace seraph {

class OptimizerOracle {
 public:
  explicit OptimizerOracle(const OptimizerSpec& optimizer, double weight = 0);

  // A step in which the key was pushed.
  void Push(double gradient, double eta);

  // A step of the partition in which it was not.
  void Idle(double eta);

  double weight() const { return w_; }

 private:
  const OptimizerSpec o_;
  double w_;
  double n_ = 0, d_ = 0;            // adagrad, rmsprop, adadelta, ftrl.
  double m_ = 0, v_ = 0;            // momentum, nesterov, adam, adamw.
  double z_ = 0;                    // ftrl.
  double power1_ = 1, power2_ = 1;  // beta1^t, beta2^t.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_OPTIMIZER_ORACLE_H_
