#include "server/update/direct.h"

#include "server/update/kernel_rule.h"

namespace seraph {
namespace {

struct Kernel {
  static constexpr int kSlots = 0;
  static constexpr int kTerms = 0;
  using Slots = std::array<Lanes, kSlots>;
  using Terms = std::array<Lanes, kTerms>;
  struct Move {
    bool assign;

    Lanes operator()(const Terms&, Lanes g, Lanes& w, Slots&) const {
      w = assign ? g : w + g;
      return 0.0;
    }
  };

  bool assign;

  std::array<double, kSlots> Start(double) const { return {}; }
  Move ForStep(double) const { return {assign}; }
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeDirect(const OptimizerSpec& optimizer,
                                             uint32_t width) {
  return std::make_unique<KernelRule<Kernel>>(
      width, Kernel{optimizer.kind == OptimizerKind::kAssign}, Penalties{},
      LazyTerms());
}

}  // namespace seraph
