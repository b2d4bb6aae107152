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

void GradientSums::Reset(size_t keys, size_t stride) {
  stride_ = stride;
  sums_.assign(keys * stride, 0.0);
  touched_.assign(keys, 0);
}

absl::Status GradientSums::Finish(const ModelTable& table,
                                  absl::Span<const Key> keys, size_t examples,
                                  TableGradient* gradient) const {
  gradient->keys = keys;
  gradient->values.resize(keys.size() * table.width);
  for (size_t i = 0; i < keys.size(); ++i) {
    float* values = gradient->values.data() + i * table.width;
    if (!Store(sums_.data() + i * stride_, table.width, examples, values)) {
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
  gradient->values.resize(keys.size() * table.width);
  float* values = gradient->values.data();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!touched_[i]) continue;
    if (!Store(sums_.data() + i * stride_, table.width, examples, values)) {
      return NotFinite(table, keys[i], values);
    }
    values += table.width;
    gradient->own_keys.push_back(keys[i]);
  }
  gradient->values.resize(gradient->own_keys.size() * table.width);
  gradient->keys = gradient->own_keys;
  return absl::OkStatus();
}

}  // namespace seraph
