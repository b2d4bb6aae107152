// The keys that a minibatch needs, and what it gives back for them.
#ifndef SERAPH_WORKER_MODEL_BATCH_KEYS_H_
#define SERAPH_WORKER_MODEL_BATCH_KEYS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/float_buffer.h"
#include "common/base/key.h"

namespace seraph {

// Made by Model::Prepare. Reused from batch to batch, so that nothing is
// allocated once the largest batch was seen.
struct BatchKeys {
  // By table index: [n] original keys, strictly increasing. Tables that a
  // batch needs whole (a bias) have all their keys, also for a batch without
  // non-zeros.
  std::vector<std::vector<Key>> tables;

  // [nnz]: for each non-zero of the batch, the place of its key in the list of
  // every table that is indexed by features.
  std::vector<uint32_t> positions;
};

// The gradient of the mean loss of a batch for one table. Can be moved, but not
// copied: `keys` may point into `own_keys`.
struct TableGradient {
  TableGradient() = default;
  TableGradient(TableGradient&&) = default;
  TableGradient& operator=(TableGradient&&) = default;

  // [m] what to push, strictly increasing: all keys of the batch, or those
  // that got a part of the gradient (Model says which). A view of the
  // BatchKeys or of `own_keys`: valid while both live and do not change.
  absl::Span<const Key> keys;
  FloatBuffer values;  // [m * width], row-major, finite.

  std::vector<Key> own_keys;  // Holds `keys` when those are a subset.
};

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_BATCH_KEYS_H_
