#include "server/update/momentum.h"

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

  double mu;
  bool nesterov;

  Slots Start(double) const { return {0.0}; }
  Row ForRow(double eta, uint32_t) const { return {eta}; }
  double Move(const Row& row, double g, double& w, Slots& slots) const {
    double& v = slots[0];
    v = mu * v + g;
    w -= row.eta * (nesterov ? g + mu * v : v);
    return row.eta;
  }
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeMomentum(const OptimizerSpec& optimizer,
                                               uint32_t width) {
  return std::make_unique<KernelRule<Kernel>>(
      width,
      Kernel{optimizer.momentum, optimizer.kind == OptimizerKind::kNesterov},
      Penalties{optimizer.clip_value, optimizer.l2, optimizer.l1}, LazyTerms());
}

}  // namespace seraph
