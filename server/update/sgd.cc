#include "server/update/sgd.h"

#include "server/update/kernel_rule.h"

namespace seraph {
namespace {

struct Kernel {
  static constexpr int kSlots = 0;
  static constexpr bool kCountsSteps = false;
  using Slots = std::array<double, kSlots>;
  struct Row {
    double eta;
  };

  Slots Start(double) const { return {}; }
  Row ForRow(double eta, uint32_t) const { return {eta}; }
  double Move(const Row& row, double g, double& w, Slots&) const {
    w -= row.eta * g;
    return row.eta;
  }
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
