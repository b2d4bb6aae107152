#include "server/update/adadelta.h"

#include <cmath>

#include "server/update/kernel_rule.h"

namespace seraph {
namespace {

struct Kernel {
  static constexpr int kSlots = 2;
  static constexpr int kTerms = 0;
  using Slots = std::array<Lanes, kSlots>;
  using Terms = std::array<Lanes, kTerms>;
  struct Move {
    double eta;
    double rho;
    double epsilon;

    Lanes operator()(const Terms&, Lanes g, Lanes& w, Slots& slots) const {
      auto& [n, d] = slots;
      n = rho * n + (1.0 - rho) * (g * g);
      const Lanes scale = Sqrt(n + epsilon);
      const Lanes ratio = Select(scale > 0.0, Sqrt(d + epsilon) / scale, 0.0);
      const Lanes delta = ratio * g;
      w -= eta * delta;
      d = rho * d + (1.0 - rho) * (delta * delta);
      return eta * ratio;
    }
  };

  double rho;
  double epsilon;

  std::array<double, kSlots> Start(double) const { return {0.0, 0.0}; }
  Move ForStep(double eta) const { return {eta, rho, epsilon}; }
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeAdadelta(const OptimizerSpec& optimizer,
                                               uint32_t width) {
  return std::make_unique<KernelRule<Kernel>>(
      width, Kernel{optimizer.rho, optimizer.epsilon},
      Penalties{optimizer.clip_value, optimizer.l2, optimizer.l1}, LazyTerms());
}

}  // namespace seraph
