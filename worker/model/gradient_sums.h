// Adds up the gradient of one table over a batch.
#ifndef SERAPH_WORKER_MODEL_GRADIENT_SUMS_H_
#define SERAPH_WORKER_MODEL_GRADIENT_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/model/model_spec.h"
#include "worker/model/batch_keys.h"

namespace seraph {

// Sums in double, rounded to float32 once, at the end. The memory is kept from
// batch to batch. Threads: one at a time.
class GradientSums {
 public:
  // Starts a batch of `keys` keys of `width` values each, all sums 0.
  void Reset(size_t keys, size_t width);

  // The sums of a key, [width].
  double* row(size_t position) { return sums_.data() + position * width_; }

  // Says that the key got a part of the gradient, be it 0.
  void Touch(size_t position) { touched_[position] = 1; }

  // Writes sum / examples for all keys.
  //
  // Errors: OutOfRange for a value that is not a finite float32; it names the
  // table and the key. `gradient` is then unspecified.
  // Requires: `table` has the width and `keys` the size given to Reset.
  absl::Status Finish(const ModelTable& table, absl::Span<const Key> keys,
                      size_t examples, TableGradient* gradient) const;

  // The same, for the touched keys alone.
  absl::Status FinishTouched(const ModelTable& table,
                             absl::Span<const Key> keys, size_t examples,
                             TableGradient* gradient) const;

 private:
  size_t width_ = 1;
  std::vector<double> sums_;      // [keys * width].
  std::vector<uint8_t> touched_;  // [keys].
};

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_GRADIENT_SUMS_H_
