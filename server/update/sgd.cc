#include "server/update/sgd.h"

#include "server/update/kernel_rule.h"

namespace seraph {
namespace {

struct Kernel {
  static constexpr int kSlots = 0;
  static constexpr int kTerms = 0;
  using Slots = std::array<Lanes, kSlots>;
  using Terms = std::array<Lanes, kTerms>;
  struct Move {
    double eta;

    Lanes operator()(const Terms&, Lanes g, Lanes& w, Slots&) const {
      w -= eta * g;
      return eta;
    }
  };

  std::array<double, kSlots> Start(double) const { return {}; }
  Move ForStep(double eta) const { return {eta}; }
};

}  // namespace

std::unique_ptr<const UpdateRule> MakeSgd(const OptimizerSpec& optimizer,
                                          uint32_t width) {
  return std::make_unique<KernelRule<Kernel>>(
      width, Kernel{},
      Penalties{optimizer.clip_value, optimizer.l2, optimizer.l1},
      LazyTermsOf(optimizer));
}

}  // namespace seraph
