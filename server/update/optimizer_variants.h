// The optimizers that the tests run through: every kind, with and without what
// it can be combined with.
#ifndef SERAPH_SERVER_UPDATE_OPTIMIZER_VARIANTS_H_
#define SERAPH_SERVER_UPDATE_OPTIMIZER_VARIANTS_H_

#include <ostream>
#include <string>
#include <vector>

#include "common/table/table_spec.h"

namespace seraph {

struct OptimizerVariant {
  std::string name;  // Letters and digits.
  OptimizerSpec spec;

  friend std::ostream& operator<<(std::ostream& out,
                                  const OptimizerVariant& variant) {
    return out << variant.name;
  }
};

// With the learning rates and epsilons that the documentation gives.
inline std::vector<OptimizerVariant> OptimizerVariants() {
  using Kind = OptimizerKind;
  std::vector<OptimizerVariant> variants;
  const auto add = [&](std::string name, OptimizerSpec spec) {
    variants.push_back({name, spec});
    if (spec.kind == Kind::kSum || spec.kind == Kind::kAssign) return;
    const auto with = [&](std::string what, double l1, double l2, double clip) {
      OptimizerSpec penalised = spec;
      penalised.l1 = l1;
      penalised.l2 = l2;
      penalised.clip_value = clip;
      variants.push_back({name + what, penalised});
    };
    with("WithL1", 0.05, 0, 0);
    with("WithL2", 0, 0.2, 0);
    with("WithL1L2Clip", 0.02, 0.1, 0.5);
  };
  add("Sgd", {.kind = Kind::kSgd});
  add("Momentum", {.kind = Kind::kMomentum, .learning_rate = 0.02});
  add("Nesterov", {.kind = Kind::kNesterov, .learning_rate = 0.02});
  add("Adagrad", {.kind = Kind::kAdagrad, .epsilon = 1e-10});
  add("Rmsprop", {.kind = Kind::kRmsprop, .learning_rate = 0.01});
  add("Adadelta", {.kind = Kind::kAdadelta,
                   .learning_rate = 1,
                   .rho = 0.95,
                   .epsilon = 1e-6});
  add("Adam", {.kind = Kind::kAdam, .learning_rate = 0.01});
  add("Adamw",
      {.kind = Kind::kAdamw, .learning_rate = 0.01, .weight_decay = 0.3});
  add("Ftrl", {.kind = Kind::kFtrl});
  add("Sum", {.kind = Kind::kSum});
  add("Assign", {.kind = Kind::kAssign});
  return variants;
}

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_OPTIMIZER_VARIANTS_H_
