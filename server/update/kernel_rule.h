// What all update rules share, around the formula of one value.
#ifndef SERAPH_SERVER_UPDATE_KERNEL_RULE_H_
#define SERAPH_SERVER_UPDATE_KERNEL_RULE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

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
//     // Only where the slots imply the weight: those that imply w.
//     Slots Imply(double w, const Slots& slots) const;
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
        lazy_(lazy),
        has_extras_(penalties.clip > 0 || penalties.l2 > 0 ||
                    penalties.l1 > 0 || lazy.record_cells() > 0) {}

  LazySums Advance(const LazySums& sums, double eta) const override {
    return lazy_.Advance(sums, eta);
  }

  void InitRow(absl::Span<const float> weights, const LazySums& sums,
               float* row) const override {
    const size_t width = this->width();
    for (size_t j = 0; j < width; ++j) {
      row[j] = weights[j];
      SetSlots(kernel_.Start(weights[j]), j, row);
    }
    if constexpr (Kernel::kCountsSteps) SetSteps(row, 0);
    lazy_.Record(sums, row + RecordOffset());
  }

  void SetWeights(absl::Span<const float> weights, const LazySums& now,
                  float* row) const override {
    for (size_t j = 0; j < width(); ++j) {
      const float old = std::exchange(row[j], weights[j]);
      if constexpr (requires { &Kernel::Imply; }) {
        if (old != weights[j]) {
          SetSlots(kernel_.Imply(weights[j], SlotsOf(row, j)), j, row);
        }
      }
    }
    lazy_.Record(now, row + RecordOffset());
  }

  void Rebase(const LazySums& from, const LazySums& to,
              float* row) const override {
    lazy_.Rebase(from, to, row + RecordOffset());
  }

  void Read(absl::Span<const float* const> rows, const LazySums& now,
            float* out) const override {
    const size_t width = this->width();
    for (const float* row : rows) {
      const LazyShift shift =
          has_extras_ ? lazy_.Between(row + RecordOffset(), now) : LazyShift();
      if (!shift.IsIdentity()) {
        for (size_t j = 0; j < width; ++j) {
          out[j] = static_cast<float>(shift(row[j]));
        }
      } else if (width == 1) {
        *out = *row;
      } else {
        std::copy_n(row, width, out);
      }
      out += width;
    }
  }

  uint64_t Step(absl::Span<float* const> rows, const float* gradients,
                const StepContext& step) const override {
    // Variants that the compiler knows: the usual width, and without extras.
    if (width() == 1) {
      return has_extras_ ? StepRows<1, true>(rows, gradients, step)
                         : StepRows<1, false>(rows, gradients, step);
    }
    return has_extras_ ? StepRows<0, true>(rows, gradients, step)
                       : StepRows<0, false>(rows, gradients, step);
  }

 private:
  static constexpr size_t kStripes = 1 + Kernel::kSlots;
  static constexpr double kMaxFloat = std::numeric_limits<float>::max();

  size_t StepsOffset() const { return kStripes * width(); }
  size_t RecordOffset() const {
    return StepsOffset() + (Kernel::kCountsSteps ? 1 : 0);
  }

  typename Kernel::Slots SlotsOf(const float* row, size_t column) const {
    typename Kernel::Slots slots;
    for (int s = 0; s < Kernel::kSlots; ++s) {
      slots[s] = row[(1 + s) * width() + column];
    }
    return slots;
  }
  void SetSlots(const typename Kernel::Slots& slots, size_t column,
                float* row) const {
    for (int s = 0; s < Kernel::kSlots; ++s) {
      // ftrl's z of a huge weight might not be a float.
      row[(1 + s) * width() + column] =
          static_cast<float>(std::clamp(slots[s], -kMaxFloat, kMaxFloat));
    }
  }

  uint32_t Steps(const float* row) const {
    uint32_t steps;
    std::memcpy(&steps, row + StepsOffset(), sizeof(steps));
    return steps;
  }
  void SetSteps(float* row, uint32_t steps) const {
    std::memcpy(row + StepsOffset(), &steps, sizeof(steps));
  }

  // Step, for kWidth columns (0: any number), with or without penalties and
  // lazy terms.
  template <size_t kWidth, bool kExtras>
  uint64_t StepRows(absl::Span<float* const> rows, const float* gradients,
                    const StepContext& step) const {
    const size_t width = kWidth > 0 ? kWidth : this->width();
    std::conditional_t<kWidth == 0, absl::InlinedVector<float, 256>,
                       std::array<float, kStripes * kWidth>>
        next;
    if constexpr (kWidth == 0) next.resize(kStripes * width);
    uint64_t not_finite = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      float* row = rows[i];
      uint32_t steps = 0;
      if constexpr (Kernel::kCountsSteps) {
        steps = Steps(row);
        if (steps < std::numeric_limits<uint32_t>::max()) ++steps;
      }
      if (!NextValues<kExtras>(row, gradients + i * width, width, steps, step,
                               next.data())) {
        not_finite |= uint64_t{1} << i;
        continue;
      }
      for (size_t k = 0; k < kStripes * width; ++k) row[k] = next[k];
      if constexpr (Kernel::kCountsSteps) SetSteps(row, steps);
      if constexpr (kExtras) lazy_.Record(step.after, row + RecordOffset());
    }
    return not_finite;
  }

  // Computes the new weights and slots, [kStripes * width]. Returns whether
  // they and the gradient are finite.
  template <bool kExtras>
  bool NextValues(const float* __restrict row, const float* __restrict gradient,
                  size_t width, uint32_t steps, const StepContext& step,
                  float* __restrict next) const {
    LazyShift shift;
    if constexpr (kExtras) {
      shift = lazy_.Between(row + RecordOffset(), step.before);
    }
    const typename Kernel::Row shared = kernel_.ForRow(step.eta, steps);
    uint32_t not_finite = 0;  // Not a bool: the compiler keeps it in a vector.
    for (size_t j = 0; j < width; ++j) {
      double w = shift(row[j]);
      typename Kernel::Slots slots;
      for (int s = 0; s < Kernel::kSlots; ++s) {
        slots[s] = row[(1 + s) * width + j];
      }
      double g = gradient[j];
      not_finite |= IsNotFinite(gradient[j]);  // Before a clip hides it.
      if constexpr (kExtras) {
        if (penalties_.clip > 0) {
          g = std::clamp(g, -penalties_.clip, penalties_.clip);
        }
        g += penalties_.l2 * w;
      }
      const double step_size = kernel_.Move(shared, g, w, slots);
      if constexpr (kExtras) {
        w = SoftThreshold(w, penalties_.l1 * step_size);
      }
      next[j] = static_cast<float>(w);
      not_finite |= IsNotFinite(next[j]);
      for (int s = 0; s < Kernel::kSlots; ++s) {
        float& slot = next[(1 + s) * width + j];
        slot = static_cast<float>(slots[s]);
        not_finite |= IsNotFinite(slot);
      }
    }
    return not_finite == 0;
  }

  static uint32_t IsNotFinite(float x) {
    constexpr uint32_t kExponent = 0x7f800000;
    return (std::bit_cast<uint32_t>(x) & kExponent) == kExponent;
  }

  const Kernel kernel_;
  const Penalties penalties_;
  const LazyTerms lazy_;
  const bool has_extras_;  // Penalties or lazy terms.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_KERNEL_RULE_H_
