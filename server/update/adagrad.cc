#include "server/update/adagrad.h"

#include <cmath>

#include "server/update/kernel_rule.h"

namespace seraph {
namespace {

struct Kernel {
  static constexpr int kSlots = 1;
  static constexpr int kTerms = 0;
  using Slots = std::array<Lanes, kSlots>;
  using Terms = std::array<Lanes, kTerms>;
  struct Move {
    double eta;
    double epsilon;

    Lanes operator()(const Terms&, Lanes g, Lanes& w, Slots& slots) const {
      Lanes& n = slots[0];
      n += g * g;
      const Lanes scale = Sqrt(n) + epsilon;
      const Lanes step_size = Select(scale > 0.0, eta / scale, 0.0);
      w -= step_size * g;
      return step_size;
    }
  };

  double epsilon;

  std::array<double, kSlots> Start(double) const { return {0.0}; }
  Move ForStep(double eta) const { return {eta, epsilon}; }
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeAdagrad(const OptimizerSpec& optimizer,
                                              uint32_t width) {
  return std::make_unique<KernelRule<Kernel>>(
      width, Kernel{optimizer.epsilon},
      Penalties{optimizer.clip_value, optimizer.l2, optimizer.l1}, LazyTerms());
}

}  // namespace seraph
