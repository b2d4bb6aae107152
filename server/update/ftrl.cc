#include "server/update/ftrl.h"

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
    double alpha;
    double beta;
    double l1;
    double l2;

    Lanes operator()(const Terms&, Lanes g, Lanes& w, Slots& slots) const {
      auto& [z, n] = slots;
      const Lanes old_root = Sqrt(n);
      n += g * g;
      const Lanes root = Sqrt(n);
      // root - old_root without the cancellation of a small g and a large n.
      const Lanes roots = root + old_root;
      const Lanes growth = Select(roots > 0.0, g * g / roots, 0.0);
      z += g - growth / alpha * w;
      const Lanes curvature = l2 + (beta + root) / alpha;
      const Lanes implied = SoftThreshold(-z, l1) / curvature;
      w = Select(curvature > 0.0, implied, w);
      return 0.0;
    }
  };

  double alpha;
  double beta;
  double l1;
  double l2;

  std::array<double, kSlots> Start(double w) const {
    return Imply(w, {0.0, 0.0});
  }
  // Solves the formula of w for z.
  std::array<double, kSlots> Imply(
      double w, const std::array<double, kSlots>& slots) const {
    const double n = slots[1];
    if (w == 0.0) return {0.0, n};
    const double curvature = l2 + (beta + std::sqrt(n)) / alpha;
    return {-(w * curvature + std::copysign(l1, w)), n};
  }
  Move ForStep(double) const { return {alpha, beta, l1, l2}; }
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
