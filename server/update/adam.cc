#include "server/update/adam.h"

#include <cmath>

#include "server/update/kernel_rule.h"

namespace seraph {
namespace {

// base^t by squaring: the same bits on every machine, which pow need not give.
class Powers {
 public:
  explicit Powers(double base) {
    for (double& square : squares_) {
      square = base;
      base *= base;
    }
  }
  double At(uint32_t t) const {
    double power = 1.0;
    for (int bit = 0; t != 0; ++bit, t >>= 1) {
      if (t & 1) power *= squares_[bit];
    }
    return power;
  }

 private:
  std::array<double, 32> squares_;  // base^(2^i).
};

class Kernel {
 public:
  static constexpr int kSlots = 2;
  static constexpr bool kCountsSteps = true;
  using Slots = std::array<double, kSlots>;
  struct Row {
    double eta;
    double keep;         // What the decay leaves of a weight.
    double correction1;  // 1 - beta1^t.
    double correction2;  // 1 - beta2^t.
  };

  Kernel(const OptimizerSpec& optimizer, double decay)
      : beta1_(optimizer.beta1),
        beta2_(optimizer.beta2),
        epsilon_(optimizer.epsilon),
        decay_(decay),
        powers1_(optimizer.beta1),
        powers2_(optimizer.beta2) {}

  Slots Start(double) const { return {0.0, 0.0}; }
  Row ForRow(double eta, uint32_t t) const {
    return {eta, 1.0 - eta * decay_, 1.0 - powers1_.At(t),
            1.0 - powers2_.At(t)};
  }
  double Move(const Row& row, double g, double& w, Slots& slots) const {
    auto& [m, v] = slots;
    m = beta1_ * m + (1.0 - beta1_) * g;
    v = beta2_ * v + (1.0 - beta2_) * (g * g);
    const double scale = std::sqrt(v / row.correction2) + epsilon_;
    const double step_size = scale > 0 ? row.eta / scale : 0.0;
    w = w * row.keep - step_size * (m / row.correction1);
    return step_size;
  }

 private:
  const double beta1_;
  const double beta2_;
  const double epsilon_;
  const double decay_;
  const Powers powers1_;
  const Powers powers2_;
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeAdam(const OptimizerSpec& optimizer,
                                           uint32_t width) {
  const double decay =
      optimizer.kind == OptimizerKind::kAdamw ? optimizer.weight_decay : 0.0;
  return std::make_unique<KernelRule<Kernel>>(
      width, Kernel{optimizer, decay},
      Penalties{optimizer.clip_value, optimizer.l2, optimizer.l1},
      LazyTermsOf(optimizer));
}

}  // namespace seraph
