#include "server/update/ftrl.h"

#include <cmath>

#include "server/update/kernel_rule.h"

namespace seraph {
namespace {

struct Kernel {
  static constexpr int kSlots = 2;
  static constexpr bool kCountsSteps = false;
  using Slots = std::array<double, kSlots>;
  struct Row {};

  double alpha;
  double beta;
  double l1;
  double l2;

  Slots Start(double w) const { return Imply(w, {0.0, 0.0}); }
  // Solves the formula of w for z.
  Slots Imply(double w, const Slots& slots) const {
    const double n = slots[1];
    if (w == 0.0) return {0.0, n};
    const double curvature = l2 + (beta + std::sqrt(n)) / alpha;
    return {-(w * curvature + std::copysign(l1, w)), n};
  }
  Row ForRow(double, uint32_t) const { return {}; }
  double Move(const Row&, double g, double& w, Slots& slots) const {
    auto& [z, n] = slots;
    const double old_root = std::sqrt(n);
    n += g * g;
    const double root = std::sqrt(n);
    // root - old_root without the cancellation of a small g and a large n.
    const double roots = root + old_root;
    const double growth = roots > 0 ? g * g / roots : 0.0;
    z += g - growth / alpha * w;
    const double curvature = l2 + (beta + root) / alpha;
    if (curvature > 0) w = SoftThreshold(-z, l1) / curvature;
    return 0.0;
  }
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeFtrl(const OptimizerSpec& optimizer,
                                           uint32_t width) {
  return std::make_unique<KernelRule<Kernel>>(
      width,
      Kernel{optimizer.alpha, optimizer.beta, optimizer.l1, optimizer.l2},
      Penalties{optimizer.clip_value, 0.0, 0.0}, LazyTerms());
}

}  // namespace seraph
