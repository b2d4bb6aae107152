#include "worker/model/gradient_sums.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

// Writes a row and returns whether every value is finite.
bool Store(const double* sums, size_t width, double examples, float* values) {
  bool finite = true;
  for (size_t j = 0; j < width; ++j) {
    values[j] = static_cast<float>(sums[j] / examples);
    // False for NaN too.
    finite &= std::abs(values[j]) <= std::numeric_limits<float>::max();
  }
  return finite;
}

absl::Status NotFinite(const ModelTable& table, Key key, const float* values) {
  size_t j = 0;
  while (std::isfinite(values[j])) ++j;
  return absl::OutOfRangeError(
      absl::StrCat("the gradient of table '", table.name, "', key ", key,
                   table.width == 1 ? "" : absl::StrCat(", column ", j), " is ",
                   values[j], " as float32"));
}

}  // namespace

void GradientSums::Reset(size_t keys, size_t width) {
  width_ = width;
  sums_.assign(keys * width, 0.0);
  touched_.assign(keys, 0);
}

absl::Status GradientSums::Finish(const ModelTable& table,
                                  absl::Span<const Key> keys, size_t examples,
                                  TableGradient* gradient) const {
  gradient->keys = keys;
  gradient->values.resize(keys.size() * width_);
  for (size_t i = 0; i < keys.size(); ++i) {
    float* values = gradient->values.data() + i * width_;
    if (!Store(sums_.data() + i * width_, width_, examples, values)) {
      return NotFinite(table, keys[i], values);
    }
  }
  return absl::OkStatus();
}

absl::Status GradientSums::FinishTouched(const ModelTable& table,
                                         absl::Span<const Key> keys,
                                         size_t examples,
                                         TableGradient* gradient) const {
  gradient->own_keys.clear();
  gradient->values.resize(keys.size() * width_);
  float* values = gradient->values.data();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!touched_[i]) continue;
    if (!Store(sums_.data() + i * width_, width_, examples, values)) {
      return NotFinite(table, keys[i], values);
    }
    values += width_;
    gradient->own_keys.push_back(keys[i]);
  }
  gradient->values.resize(gradient->own_keys.size() * width_);
  gradient->keys = gradient->own_keys;
  return absl::OkStatus();
}

}  // namespace seraph
