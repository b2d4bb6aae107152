#include "server/update/momentum.h"

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
    double mu;
    bool nesterov;

    Lanes operator()(const Terms&, Lanes g, Lanes& w, Slots& slots) const {
      Lanes& v = slots[0];
      v = mu * v + g;
      w -= eta * (nesterov ? g + mu * v : v);
      return eta;
    }
  };

  double mu;
  bool nesterov;

  std::array<double, kSlots> Start(double) const { return {0.0}; }
  Move ForStep(double eta) const { return {eta, mu, nesterov}; }
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
