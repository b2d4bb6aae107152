// What all update rules share, around the formula of one value.
#ifndef SERAPH_SERVER_UPDATE_KERNEL_RULE_H_
#define SERAPH_SERVER_UPDATE_KERNEL_RULE_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "server/update/lazy_terms.h"
#include "server/update/update_rule.h"

namespace seraph {

// What happens to a pushed value around the optimizer's own formula; zeros
// switch each part off.
struct Penalties {
  double clip = 0.0;  // The gradient is clipped to [-clip, clip] first,
  double l2 = 0.0;    // then l2 * w joins it, then comes the formula,
  double l1 = 0.0;    // then w = S(w, l1 * the formula's own step size).
};

// An UpdateRule from a Kernel, the formula of one value in double:
//
//   struct Kernel {
//     static constexpr int kSlots;         // Per value.
//     static constexpr bool kCountsSteps;  // Whether the row has a cell t.
//     using Slots = std::array<double, kSlots>;
//     // Slots of a key without steps and with weight w.
//     Slots Start(double w) const;
//     // What the values of a row share in a step; t counts this one, from 1,
//     // and is 0 unless kCountsSteps.
//     struct Row;
//     Row ForRow(double eta, uint32_t t) const;
//     // Moves w and slots by gradient g. Returns the step size: w moved by it
//     // times the (smoothed) gradient.
//     double Move(const Row& row, double g, double& w, Slots& slots) const;
//   };
template <typename Kernel>
class KernelRule final : public UpdateRule {
 public:
  KernelRule(uint32_t width, const Kernel& kernel, const Penalties& penalties,
             const LazyTerms& lazy)
      : UpdateRule(width, width * kStripes + (Kernel::kCountsSteps ? 1 : 0) +
                              lazy.record_cells()),
        kernel_(kernel),
        penalties_(penalties),
        lazy_(lazy) {}

  LazySums Advance(const LazySums& sums, double eta) const override {
    return lazy_.Advance(sums, eta);
  }

  void InitRow(absl::Span<const float> weights, const LazySums& sums,
               float* row) const override {
    const size_t width = this->width();
    for (size_t j = 0; j < width; ++j) {
      row[j] = weights[j];
      const typename Kernel::Slots slots = kernel_.Start(weights[j]);
      for (int s = 0; s < Kernel::kSlots; ++s) {
        row[(1 + s) * width + j] = static_cast<float>(slots[s]);
      }
    }
    if constexpr (Kernel::kCountsSteps) SetSteps(row, 0);
    lazy_.Record(sums, row + RecordOffset());
  }

  void Read(absl::Span<const float* const> rows, const LazySums& now,
            float* out) const override {
    const size_t width = this->width();
    for (const float* row : rows) {
      const LazyShift shift = lazy_.Between(row + RecordOffset(), now);
      if (shift.IsIdentity()) {
        std::copy_n(row, width, out);
      } else {
        for (size_t j = 0; j < width; ++j) {
          out[j] = static_cast<float>(shift(row[j]));
        }
      }
      out += width;
    }
  }

  uint64_t Step(absl::Span<float* const> rows, const float* gradients,
                const StepContext& step) const override {
    absl::InlinedVector<float, 256> next(kStripes * width());
    uint64_t not_finite = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!StepRow(rows[i], gradients + i * width(), step, next.data())) {
        not_finite |= uint64_t{1} << i;
      }
    }
    return not_finite;
  }

 private:
  static constexpr size_t kStripes = 1 + Kernel::kSlots;

  size_t StepsOffset() const { return kStripes * width(); }
  size_t RecordOffset() const {
    return StepsOffset() + (Kernel::kCountsSteps ? 1 : 0);
  }

  uint32_t Steps(const float* row) const {
    uint32_t steps;
    std::memcpy(&steps, row + StepsOffset(), sizeof(steps));
    return steps;
  }
  void SetSteps(float* row, uint32_t steps) const {
    std::memcpy(row + StepsOffset(), &steps, sizeof(steps));
  }

  // Whether the row moved. `next` is scratch, [kStripes * width()].
  bool StepRow(float* row, const float* gradient, const StepContext& step,
               float* next) const {
    const size_t width = this->width();
    const LazyShift shift = lazy_.Between(row + RecordOffset(), step.before);
    uint32_t steps = 0;
    if constexpr (Kernel::kCountsSteps) {
      steps = Steps(row);
      if (steps < std::numeric_limits<uint32_t>::max()) ++steps;
    }
    const typename Kernel::Row shared = kernel_.ForRow(step.eta, steps);
    bool finite = true;
    for (size_t j = 0; j < width; ++j) {
      double w = shift(row[j]);
      typename Kernel::Slots slots;
      for (int s = 0; s < Kernel::kSlots; ++s) {
        slots[s] = row[(1 + s) * width + j];
      }
      double g = gradient[j];
      finite &= std::isfinite(g);  // Before a clip that would hide it.
      if (penalties_.clip > 0) {
        g = std::fmin(std::fmax(g, -penalties_.clip), penalties_.clip);
      }
      if (penalties_.l2 > 0) g += penalties_.l2 * w;
      const double step_size = kernel_.Move(shared, g, w, slots);
      if (penalties_.l1 > 0) w = SoftThreshold(w, penalties_.l1 * step_size);
      next[j] = static_cast<float>(w);
      finite &= std::isfinite(next[j]);
      for (int s = 0; s < Kernel::kSlots; ++s) {
        float& slot = next[(1 + s) * width + j];
        slot = static_cast<float>(slots[s]);
        finite &= std::isfinite(slot);
      }
    }
    if (!finite) return false;
    std::copy_n(next, kStripes * width, row);
    if constexpr (Kernel::kCountsSteps) SetSteps(row, steps);
    lazy_.Record(step.after, row + RecordOffset());
    return true;
  }

  const Kernel kernel_;
  const Penalties penalties_;
  const LazyTerms lazy_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_KERNEL_RULE_H_
