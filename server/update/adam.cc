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
  static constexpr int kTerms = 2;  // 1 - beta1^t, 1 - beta2^t.
  using Slots = std::array<Lanes, kSlots>;
  using Terms = std::array<Lanes, kTerms>;
  struct Move {
    double eta;
    double beta1;
    double beta2;
    double epsilon;
    double keep;  // What the decay leaves of a weight.

    Lanes operator()(const Terms& corrections, Lanes g, Lanes& w,
                     Slots& slots) const {
      auto& [m, v] = slots;
      m = beta1 * m + (1.0 - beta1) * g;
      v = beta2 * v + (1.0 - beta2) * (g * g);
      const Lanes scale = Sqrt(v / corrections[1]) + epsilon;
      const Lanes step_size = Select(scale > 0.0, eta / scale, 0.0);
      w = w * keep - step_size * (m / corrections[0]);
      return step_size;
    }
  };

  Kernel(const OptimizerSpec& optimizer, double decay)
      : beta1_(optimizer.beta1),
        beta2_(optimizer.beta2),
        epsilon_(optimizer.epsilon),
        decay_(decay),
        powers1_(optimizer.beta1),
        powers2_(optimizer.beta2) {}

  std::array<double, kSlots> Start(double) const { return {0.0, 0.0}; }
  std::array<double, kTerms> TermsAt(uint32_t t) const {
    return {1.0 - powers1_.At(t), 1.0 - powers2_.At(t)};
  }
  Move ForStep(double eta) const {
    return {eta, beta1_, beta2_, epsilon_, 1.0 - eta * decay_};
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
