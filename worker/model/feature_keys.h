// The part of Model::Prepare that all models over features share.
#ifndef SERAPH_WORKER_MODEL_FEATURE_KEYS_H_
#define SERAPH_WORKER_MODEL_FEATURE_KEYS_H_

#include <vector>

#include "absl/status/status.h"
#include "common/model/model_spec.h"
#include "worker/data/batch.h"
#include "worker/model/batch_keys.h"
#include "worker/model/key_index.h"

namespace seraph {

// Lists a batch's keys for the tables of a model: all keys of a bias table,
// and the distinct feature keys of the batch for every other one.
//
// Threads: one at a time.
class FeatureKeys {
 public:
  // Errors, which leave `keys` unspecified:
  //   OutOfRange  a key beyond a dense table's last one; it is named
  absl::Status Find(const Batch& batch, const std::vector<ModelTable>& tables,
                    BatchKeys* keys);

 private:
  KeyIndex index_;
  std::vector<Key> distinct_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_FEATURE_KEYS_H_
