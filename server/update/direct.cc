#include "server/update/direct.h"

#include "server/update/kernel_rule.h"

namespace seraph {
namespace {

struct Kernel {
  static constexpr int kSlots = 0;
  static constexpr bool kCountsSteps = false;
  using Slots = std::array<double, kSlots>;
  struct Row {};

  bool assign;

  Slots Start(double) const { return {}; }
  Row ForRow(double, uint32_t) const { return {}; }
  double Move(const Row&, double g, double& w, Slots&) const {
    w = assign ? g : w + g;
    return 0.0;
  }
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeDirect(const OptimizerSpec& optimizer,
                                             uint32_t width) {
  return std::make_unique<KernelRule<Kernel>>(
      width, Kernel{optimizer.kind == OptimizerKind::kAssign}, Penalties{},
      LazyTerms());
}

}  // namespace seraph
