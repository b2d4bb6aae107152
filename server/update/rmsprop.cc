#include "server/update/rmsprop.h"

#include <cmath>

#include "server/update/kernel_rule.h"

namespace seraph {
namespace {

struct Kernel {
  static constexpr int kSlots = 1;
  static constexpr bool kCountsSteps = false;
  using Slots = std::array<double, kSlots>;
  struct Row {
    double eta;
  };

  double rho;
  double epsilon;

  Slots Start(double) const { return {0.0}; }
  Row ForRow(double eta, uint32_t) const { return {eta}; }
  double Move(const Row& row, double g, double& w, Slots& slots) const {
    double& n = slots[0];
    n = rho * n + (1.0 - rho) * (g * g);
    const double scale = std::sqrt(n) + epsilon;
    const double step_size = scale > 0 ? row.eta / scale : 0.0;
    w -= step_size * g;
    return step_size;
  }
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeRmsprop(const OptimizerSpec& optimizer,
                                              uint32_t width) {
  return std::make_unique<KernelRule<Kernel>>(
      width, Kernel{optimizer.rho, optimizer.epsilon},
      Penalties{optimizer.clip_value, optimizer.l2, optimizer.l1}, LazyTerms());
}

}  // namespace seraph
