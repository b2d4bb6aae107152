// What all update rules share, around the formula of one value.
#ifndef SERAPH_SERVER_UPDATE_KERNEL_RULE_H_
#define SERAPH_SERVER_UPDATE_KERNEL_RULE_H_

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/container/inlined_vector.h"
#include "server/update/lanes.h"
#include "server/update/last_shift.h"
#include "server/update/lazy_terms.h"
#include "server/update/row_weights.h"
#include "server/update/update_rule.h"

namespace seraph {

// f(0), ..., f(n - 1), without a loop at any level of optimisation that
// matters.
template <size_t n, typename F>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Unroll(F f) {
  [&]<size_t... i>(std::index_sequence<i...>) { (f(i), ...); }
  (std::make_index_sequence<n>());
}

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
//     static constexpr int kSlots;  // Per value.
//     // Numbers that depend on how many steps a row has had. Without any, rows
//     // do not count them.
//     static constexpr int kTerms;
//     // Slots of a key without steps and with weight w.
//     std::array<double, kSlots> Start(double w) const;
//     // Those of a row's t-th step, from 1. Only where there are some.
//     std::array<double, kTerms> TermsAt(uint32_t t) const;
//     // Only where the slots imply the weight: those that imply w.
//     std::array<double, kSlots> Imply(
//         double w, const std::array<double, kSlots>& slots) const;
//     // The formula, with the numbers that all values of a step share.
//     struct Move {
//       // Moves w and slots by gradient g. Returns the step size: w moved by
//       // it times the (smoothed) gradient.
//       Lanes operator()(const std::array<Lanes, kTerms>& terms, Lanes g,
//                        Lanes& w, std::array<Lanes, kSlots>& slots) const;
//     };
//     Move ForStep(double eta) const;
//   };
template <typename Kernel>
class KernelRule final : public UpdateRule {
 public:
  KernelRule(uint32_t width, const Kernel& kernel, const Penalties& penalties,
             const LazyTerms& lazy)
      : UpdateRule(width, width * kStripes + (kCountsSteps ? 1 : 0) +
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
    if constexpr (kCountsSteps) SetSteps(row, 0);
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
    if (lazy_.record_cells() == 0) return CopyWeights(rows, width(), out);
    LastShift last(lazy_, now);
    for (const float* row : rows) {
      const LazyShift shift = last.Of(row + RecordOffset());
      for (size_t j = 0; j < width(); ++j) {
        out[j] =
            shift.IsIdentity() ? row[j] : static_cast<float>(shift(row[j]));
      }
      out += width();
    }
  }

  void ReadRun(const float* first, size_t n, const LazySums& now,
               float* out) const override {
    if (row_cells() == width()) {
      std::memcpy(out, first, n * width() * sizeof(float));
    } else {
      UpdateRule::ReadRun(first, n, now, out);
    }
  }

  uint64_t Step(absl::Span<float* const> rows, const float* gradients,
                const StepContext& step) const override {
    return has_extras_ ? StepAnyWidth<true>(rows, gradients, step)
                       : StepAnyWidth<false>(rows, gradients, step);
  }

  uint64_t StepRun(float* first, size_t n, const float* gradients,
                   const StepContext& step) const override {
    if (row_cells() == width() && Lanes::kCount % width() == 0) {
      if constexpr (kStripes == 1 && !kCountsSteps) {
        return has_extras_ ? StepFlat<true>(first, n, gradients, step)
                           : StepFlat<false>(first, n, gradients, step);
      }
    }
    return UpdateRule::StepRun(first, n, gradients, step);
  }

 private:
  using Slots = std::array<Lanes, Kernel::kSlots>;
  using Terms = std::array<Lanes, Kernel::kTerms>;
  static constexpr size_t kStripes = 1 + Kernel::kSlots;
  static constexpr bool kCountsSteps = Kernel::kTerms > 0;
  static constexpr double kMaxFloat = std::numeric_limits<float>::max();

  size_t StepsOffset() const { return kStripes * width(); }
  size_t RecordOffset() const { return StepsOffset() + (kCountsSteps ? 1 : 0); }

  using StoredSlots = std::array<double, Kernel::kSlots>;

  StoredSlots SlotsOf(const float* row, size_t column) const {
    StoredSlots slots;
    for (int s = 0; s < Kernel::kSlots; ++s) {
      slots[s] = row[(1 + s) * width() + column];
    }
    return slots;
  }
  void SetSlots(const StoredSlots& slots, size_t column, float* row) const {
    for (int s = 0; s < Kernel::kSlots; ++s) {
      // ftrl's z of a huge weight might not be a float.
      row[(1 + s) * width() + column] =
          static_cast<float>(std::clamp(slots[s], -kMaxFloat, kMaxFloat));
    }
  }

  // The count of steps with the one that is being made.
  uint32_t StepsWithThis(const float* row) const {
    uint32_t steps;
    std::memcpy(&steps, row + StepsOffset(), sizeof(steps));
    return steps < std::numeric_limits<uint32_t>::max() ? steps + 1 : steps;
  }
  void SetSteps(float* row, uint32_t steps) const {
    std::memcpy(row + StepsOffset(), &steps, sizeof(steps));
  }

  // What the values of one call of Step share.
  struct Shared {
    typename Kernel::Move move;
    double clip;
    double l2;
    double l1;
  };

  Shared ForStep(const StepContext& step) const {
    return {kernel_.ForStep(step.eta),
            penalties_.clip > 0 ? penalties_.clip
                                : std::numeric_limits<double>::infinity(),
            penalties_.l2, penalties_.l1};
  }

  // Terms of rows, which most often are those of the row before.
  class LastTerms {
   public:
    explicit LastTerms(const Kernel& kernel) : kernel_(kernel) {}

    // Those of a row's t-th step.
    const Terms& At(uint32_t t) {
      if (t != t_) {
        const auto terms = kernel_.TermsAt(t);
        for (size_t s = 0; s < terms.size(); ++s) terms_[s] = terms[s];
        t_ = t;
      }
      return terms_;
    }

    // Those of n rows, as many lanes of each as there are columns.
    template <size_t n>
    ABSL_ATTRIBUTE_ALWAYS_INLINE const Terms& AtEach(
        const std::array<uint32_t, n>& counts) {
      uint32_t differ = 0;
      Unroll<n>([&](size_t i) ABSL_ATTRIBUTE_ALWAYS_INLINE {
        differ |= counts[i] ^ counts[0];
      });
      return differ == 0 ? At(counts[0]) : Different(counts);
    }

   private:
    template <size_t n>
    const Terms& Different(const std::array<uint32_t, n>& counts) {
      std::array<double, Kernel::kTerms> of[n];
      for (size_t i = 0; i < n; ++i) {
        of[i] = i > 0 && counts[i] == counts[i - 1]
                    ? of[i - 1]
                    : kernel_.TermsAt(counts[i]);
      }
      constexpr size_t kColumns = Lanes::kCount / n;
      for (size_t s = 0; s < terms_.size(); ++s) {
        terms_[s] = Lanes(of[0][s], of[1 / kColumns][s], of[2 / kColumns][s],
                          of[3 / kColumns][s]);
      }
      t_ = 0;
      return terms_;
    }

    const Kernel& kernel_;
    uint32_t t_ = 0;  // No row's.
    Terms terms_{};
  };

  using Stripes = Lanes::Floats[kStripes];

  // Moves a lane's worth of values: w with the lazy terms, in_slots
  // [kSlots]. Sets `next` to weights and slots; returns the lanes of which one
  // of them, or the gradient, is not finite.
  template <bool kExtras>
  ABSL_ATTRIBUTE_ALWAYS_INLINE static Lanes::FloatBits Move(
      const Shared& shared, const Terms& terms, Lanes w, Lanes::Floats gradient,
      const Lanes::Floats* in_slots, Stripes& next) {
    Slots slots;
    for (int s = 0; s < Kernel::kSlots; ++s) slots[s] = Lanes::Of(in_slots[s]);
    Lanes g = Lanes::Of(gradient);
    Lanes::FloatBits not_finite = NotFinite(gradient);  // A clip would hide it.
    if constexpr (kExtras) {
      g = Select(g < -shared.clip, -shared.clip, g);
      g = Select(g > shared.clip, shared.clip, g);
      g += shared.l2 * w;
    }
    const Lanes step_size = shared.move(terms, g, w, slots);
    if constexpr (kExtras) w = SoftThreshold(w, shared.l1 * step_size);
    next[0] = w.ToFloats();
    not_finite |= NotFinite(next[0]);
    for (int s = 0; s < Kernel::kSlots; ++s) {
      next[1 + s] = slots[s].ToFloats();
      not_finite |= NotFinite(next[1 + s]);
    }
    return not_finite;
  }

  template <bool kExtras>
  uint64_t StepAnyWidth(absl::Span<float* const> rows, const float* gradients,
                        const StepContext& step) const {
    switch (width()) {
      case 1:
        return StepNarrow<1, kExtras>(rows, gradients, step);
      case 2:
        return StepNarrow<2, kExtras>(rows, gradients, step);
      case 4:
        return StepNarrow<4, kExtras>(rows, gradients, step);
      default:
        return StepWide<kExtras>(rows, gradients, step);
    }
  }

  // StepRun, for rows that are nothing but weights and of which some fill the
  // lanes: the values of all rows are one array.
  template <bool kExtras>
  uint64_t StepFlat(float* first, size_t n, const float* gradients,
                    const StepContext& step) const {
    const Shared shared = ForStep(step);
    const size_t width = this->width();
    const size_t values = n * width;
    uint64_t refused = 0;
    for (size_t at = 0; at < values; at += Lanes::kCount) {
      const size_t left = std::min<size_t>(Lanes::kCount, values - at);
      float weights[Lanes::kCount] = {};
      float gradient[Lanes::kCount] = {};
      if (left == Lanes::kCount) {
        StoreFloats(LoadFloats(first + at), weights);
        StoreFloats(LoadFloats(gradients + at), gradient);
      } else {
        std::copy_n(first + at, left, weights);
        std::copy_n(gradients + at, left, gradient);
      }
      Stripes next;
      const uint32_t not_finite =
          SetLanes(Move<kExtras>(shared, {}, Lanes::Of(LoadFloats(weights)),
                                 LoadFloats(gradient), nullptr, next));
      if (left == Lanes::kCount && not_finite == 0) [[likely]] {
        StoreFloats(next[0], first + at);
        continue;
      }
      for (size_t k = 0; k < left; k += width) {
        if ((not_finite >> k) & ((1u << width) - 1)) {
          refused |= uint64_t{1} << ((at + k) / width);
        } else {
          for (size_t j = k; j < k + width; ++j) first[at + j] = next[0][j];
        }
      }
    }
    return refused;
  }

  // Step, for rows with fewer values than there are lanes: those of some rows
  // are moved at once.
  template <size_t kWidth, bool kExtras>
  uint64_t StepNarrow(absl::Span<float* const> rows, const float* gradients,
                      const StepContext& step) const {
    constexpr size_t kRows = Lanes::kCount / kWidth;
    const Shared shared = ForStep(step);
    LastShift shifts(lazy_, step.before);
    LastTerms counted(kernel_);
    const Terms no_terms{};
    uint64_t refused = 0;
    for (size_t begin = 0; begin < rows.size(); begin += kRows) {
      // Where rows are missing, the first one stands for them.
      float* group[kRows];
      const size_t n = std::min<size_t>(kRows, rows.size() - begin);
      Unroll<kRows>([&](size_t i) ABSL_ATTRIBUTE_ALWAYS_INLINE {
        group[i] = rows.data()[begin + (i < n ? i : 0)];
      });
      float padded[Lanes::kCount];
      const float* gradient = gradients + begin * kWidth;
      if (n < kRows) [[unlikely]] {
        for (size_t k = 0; k < Lanes::kCount; ++k) {
          padded[k] = gradient[k < n * kWidth ? k : k % kWidth];
        }
        gradient = padded;
      }
      // Lane k is column k % kWidth of row k / kWidth.
      Lanes::Floats values[kStripes];
      Unroll<kStripes>([&](size_t s) ABSL_ATTRIBUTE_ALWAYS_INLINE {
        const auto value = [&](size_t k) ABSL_ATTRIBUTE_ALWAYS_INLINE {
          return group[k / kWidth][s * kWidth + k % kWidth];
        };
        values[s] = Lanes::Floats{value(0), value(1), value(2), value(3)};
      });
      Lanes w = Lanes::Of(values[0]);
      if constexpr (kExtras) {
        if (lazy_.record_cells() > 0) {
          const auto value = [&](size_t k) ABSL_ATTRIBUTE_ALWAYS_INLINE {
            const float* row = group[k / kWidth];
            return shifts.Of(row + RecordOffset())(row[k % kWidth]);
          };
          w = Lanes(value(0), value(1), value(2), value(3));
        }
      }
      std::array<uint32_t, kRows> counts;
      const Terms* terms = &no_terms;
      if constexpr (kCountsSteps) {
        Unroll<kRows>([&](size_t i) ABSL_ATTRIBUTE_ALWAYS_INLINE {
          counts[i] = StepsWithThis(group[i]);
        });
        terms = &counted.AtEach(counts);
      }
      Stripes next;
      const uint32_t not_finite = SetLanes(Move<kExtras>(
          shared, *terms, w, LoadFloats(gradient), values + 1, next));
      Unroll<kRows>([&](size_t i) ABSL_ATTRIBUTE_ALWAYS_INLINE {
        constexpr uint32_t kColumns = (1 << kWidth) - 1;
        if (i >= n) return;
        if ((not_finite >> (i * kWidth)) & kColumns) [[unlikely]] {
          refused |= uint64_t{1} << (begin + i);
          return;
        }
        Unroll<kStripes>([&](size_t s) ABSL_ATTRIBUTE_ALWAYS_INLINE {
          Unroll<kWidth>([&](size_t j) ABSL_ATTRIBUTE_ALWAYS_INLINE {
            group[i][s * kWidth + j] = next[s][i * kWidth + j];
          });
        });
        if constexpr (kCountsSteps) SetSteps(group[i], counts[i]);
        if constexpr (kExtras) {
          lazy_.Record(step.after, group[i] + RecordOffset());
        }
      });
    }
    return refused;
  }

  // Step, for wider rows: one by one, in lanes of columns.
  template <bool kExtras>
  uint64_t StepWide(absl::Span<float* const> rows, const float* gradients,
                    const StepContext& step) const {
    constexpr size_t kLanes = Lanes::kCount;
    const Shared shared = ForStep(step);
    const size_t width = this->width();
    const size_t stride = std::max(width, kLanes);
    absl::InlinedVector<float, 256> next(kStripes * stride);
    LastShift shifts(lazy_, step.before);
    LastTerms counted(kernel_);
    uint64_t refused = 0;
    for (size_t i = 0; i < rows.size(); ++i, gradients += width) {
      float* const row = rows[i];
      LazyShift shift;
      if constexpr (kExtras) shift = shifts.Of(row + RecordOffset());
      uint32_t count = 0;
      Terms terms;
      if constexpr (kCountsSteps) {
        count = StepsWithThis(row);
        terms = counted.At(count);
      }
      Lanes::FloatBits not_finite{};
      const auto move = [&](size_t j, auto load) ABSL_ATTRIBUTE_ALWAYS_INLINE {
        Lanes::Floats values[kStripes];
        Unroll<kStripes>([&](size_t s) ABSL_ATTRIBUTE_ALWAYS_INLINE {
          values[s] = load(row + s * width + j);
        });
        Lanes w = Lanes::Of(values[0]);
        if (kExtras && !shift.IsIdentity()) {
          w = SoftThreshold(w * shift.scale(), shift.threshold());
        }
        Stripes moved;
        not_finite |= Move<kExtras>(shared, terms, w, load(gradients + j),
                                    values + 1, moved);
        Unroll<kStripes>([&](size_t s) ABSL_ATTRIBUTE_ALWAYS_INLINE {
          StoreFloats(moved[s], next.data() + s * stride + j);
        });
      };
      const auto whole = [](const float* from) ABSL_ATTRIBUTE_ALWAYS_INLINE {
        return LoadFloats(from);
      };
      if (width >= kLanes) {
        ForLanesOf(width, [&](size_t j)
                              ABSL_ATTRIBUTE_ALWAYS_INLINE { move(j, whole); });
      } else {
        // The last column stands for those that are missing.
        move(0, [&](const float* from) {
          const auto value = [&](size_t k) {
            return from[std::min(k, width - 1)];
          };
          return Lanes::Floats{value(0), value(1), value(2), value(3)};
        });
      }
      if (SetLanes(not_finite) != 0) [[unlikely]] {
        refused |= uint64_t{1} << i;
        continue;
      }
      for (size_t s = 0; s < kStripes; ++s) {
        const float* const from = next.data() + s * stride;
        float* const to = row + s * width;
        if (width >= kLanes) {
          ForLanesOf(width, [&](size_t j) ABSL_ATTRIBUTE_ALWAYS_INLINE {
            StoreFloats(LoadFloats(from + j), to + j);
          });
        } else {
          std::copy_n(from, width, to);
        }
      }
      if constexpr (kCountsSteps) SetSteps(row, count);
      if constexpr (kExtras) lazy_.Record(step.after, row + RecordOffset());
    }
    return refused;
  }

  // Calls f(j) such that the lanes [j, j + kCount) cover all columns. The last
  // ones overlap those before them where they do not fit: a column that is
  // computed twice is the same twice. Requires: width >= Lanes::kCount.
  template <typename F>
  static void ForLanesOf(size_t width, F f) {
    size_t j = 0;
    for (; j + Lanes::kCount <= width; j += Lanes::kCount) f(j);
    if (j < width) f(width - Lanes::kCount);
  }

  const Kernel kernel_;
  const Penalties penalties_;
  const LazyTerms lazy_;
  const bool has_extras_;  // Penalties or lazy terms.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_KERNEL_RULE_H_
