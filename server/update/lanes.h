// Four doubles, moved alike.
#ifndef SERAPH_SERVER_UPDATE_LANES_H_
#define SERAPH_SERVER_UPDATE_LANES_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace seraph {

// Lane i of a result is what the operation gives of lane i of its operands, to
// the bit: + - * / and sqrt are rounded correctly, in vectors as in scalars,
// and everything else selects. No lane knows of the others. A double stands for
// four of it.
//
// Written out, because whether a compiler makes vectors of a loop depends on
// its version, its options and the loop's surroundings; and of one with a
// square root or a condition only if it may ignore errno and traps.
class Lanes {
 public:
  static constexpr int kCount = 4;
  using Values = double __attribute__((vector_size(kCount * sizeof(double))));
  using Bits = int64_t __attribute__((vector_size(kCount * sizeof(double))));
  using Floats = float __attribute__((vector_size(kCount * sizeof(float))));
  using FloatBits =
      int32_t __attribute__((vector_size(kCount * sizeof(float))));

  // One for each lane: all bits of it, or none.
  struct Mask {
    Bits bits;
  };

  Lanes() = default;
  Lanes(double value)  // Implicit: formulas have constants.
      : values_{value, value, value, value} {}
  Lanes(double a, double b, double c, double d) : values_{a, b, c, d} {}
  explicit Lanes(const Values& values) : values_(values) {}

  static Lanes Of(Floats values) {
#if defined(__AVX__)
    return Lanes(Values(_mm256_cvtps_pd(__m128(values))));
#else
    return Lanes(__builtin_convertvector(values, Values));
#endif
  }
  // Rounded.
  Floats ToFloats() const { return __builtin_convertvector(values_, Floats); }

  friend Lanes operator+(Lanes a, Lanes b) {
    return Lanes(a.values_ + b.values_);
  }
  friend Lanes operator-(Lanes a, Lanes b) {
    return Lanes(a.values_ - b.values_);
  }
  friend Lanes operator*(Lanes a, Lanes b) {
    return Lanes(a.values_ * b.values_);
  }
  friend Lanes operator/(Lanes a, Lanes b) {
    return Lanes(a.values_ / b.values_);
  }
  friend Lanes operator-(Lanes a) { return Lanes(-a.values_); }
  Lanes& operator+=(Lanes b) { return *this = *this + b; }
  Lanes& operator-=(Lanes b) { return *this = *this - b; }

  friend Mask operator<(Lanes a, Lanes b) { return {a.values_ < b.values_}; }
  friend Mask operator>(Lanes a, Lanes b) { return {a.values_ > b.values_}; }
  friend Mask operator<=(Lanes a, Lanes b) { return {a.values_ <= b.values_}; }

  // `yes` where the mask is set, else `no`.
  friend Lanes Select(Mask mask, Lanes yes, Lanes no) {
    return Lanes(mask.bits ? yes.values_ : no.values_);
  }

  friend Lanes Sqrt(Lanes a) {
#if defined(__AVX__)
    return Lanes(Values(_mm256_sqrt_pd(__m256d(a.values_))));
#else
    return {std::sqrt(a.values_[0]), std::sqrt(a.values_[1]),
            std::sqrt(a.values_[2]), std::sqrt(a.values_[3])};
#endif
  }

  friend Lanes Abs(Lanes a) {
    return Lanes(Values(Bits(a.values_) & INT64_MAX));
  }

  // As that of one value: common/table/lazy_terms.h.
  friend Lanes SoftThreshold(Lanes w, Lanes threshold) {
    return Select(Abs(w) <= threshold, 0.0,
                  Select(w > 0.0, w - threshold, w + threshold));
  }

 private:
  Values values_;
};

inline Lanes::Floats LoadFloats(const float* from) {
  Lanes::Floats values;
  std::memcpy(&values, from, sizeof(values));
  return values;
}

inline void StoreFloats(Lanes::Floats values, float* to) {
  std::memcpy(to, &values, sizeof(values));
}

// All bits of the lanes that hold no finite number.
inline Lanes::FloatBits NotFinite(Lanes::Floats values) {
  constexpr int32_t kExponent = 0x7f800000;
  return (Lanes::FloatBits(values) & kExponent) == kExponent;
}

// Bit i says so of lane i.
inline uint32_t SetLanes(Lanes::FloatBits mask) {
#if defined(__AVX__)
  return _mm_movemask_ps(__m128(mask));
#else
  uint32_t lanes = 0;
  for (int i = 0; i < Lanes::kCount; ++i) lanes |= (mask[i] & 1) << i;
  return lanes;
#endif
}

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_LANES_H_
