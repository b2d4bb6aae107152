// How the records of a job's files are read: the same for the pass over the
// data, for training and for validation, so that all see the same records.
#ifndef SERAPH_WORKER_DATA_RECORD_RULES_H_
#define SERAPH_WORKER_DATA_RECORD_RULES_H_

#include <cstdint>
#include <optional>

#include "common/dataset/data_options.h"
#include "common/dataset/rank_plan.h"

namespace seraph {

struct RecordRules {
  DataFormat format = DataFormat::kLibsvm;
  DataOptions options;

  // The features of dense tables (`model.keys`): libsvm and libffm keys are
  // index - index_base, and every key must be below this. Unset (sparse
  // tables): the key is the index, any of uint64.
  std::optional<uint64_t> dense_keys;

  // csv: a label may be a text (classification); otherwise it is a bad record.
  bool text_labels = false;

  // A record may have no label (prediction); it is then NaN.
  bool labels_optional = false;

  // The share of records that is set apart for validation, [0, 1), drawn by
  // `seed`.
  double validation_fraction = 0;
  uint64_t seed = 1;
};

// The part of the record that begins at byte `offset` of file `file`:
// a draw from (seed, file, offset), whoever asks.
RecordPart PartOf(const RecordRules& rules, uint32_t file, uint64_t offset);

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_RECORD_RULES_H_
