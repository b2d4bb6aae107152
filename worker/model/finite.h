// Errors that say where a number stopped being finite.
#ifndef SERAPH_WORKER_MODEL_FINITE_H_
#define SERAPH_WORKER_MODEL_FINITE_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "common/model/model_spec.h"
#include "worker/model/batch_keys.h"
#include "worker/model/model.h"

namespace seraph {

// OutOfRange: example `i` has the score `score`. A finite row and finite values
// give a finite score in double, so that a row must be at fault: the first such
// one is named, by table and key.
absl::Status ScoreNotFinite(size_t i, double score,
                            const std::vector<ModelTable>& tables,
                            const BatchKeys& keys, TableRows rows);

// OutOfRange: example `i` with `label` has the loss `loss`.
absl::Status LossNotFinite(size_t i, double loss, double label);

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_FINITE_H_
