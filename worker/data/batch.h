// Records in compressed-row form: what readers give and models take.
#ifndef SERAPH_WORKER_DATA_BATCH_H_
#define SERAPH_WORKER_DATA_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/key.h"

namespace seraph {

// b records with nnz entries in all.
//
// Inside a row the keys are sorted and, but for libffm, unique: the values of
// an index that a record repeats have been added. A libffm row is sorted by
// (key, field), and that pair is unique: hashed features of two fields may
// share a key, and the fields tell them apart.
//
// Threads: none of its own; a Batch belongs to one user at a time.
struct Batch {
  std::vector<double> labels;            // [b], as the job's label map gives.
  std::vector<size_t> row_starts = {0};  // [b + 1]; row i is entries
                                         // [row_starts[i], row_starts[i+1]).
  std::vector<Key> keys;                 // [nnz].
  std::vector<float> values;             // [nnz], finite.
  std::vector<uint32_t> fields;          // [nnz] for libffm, else empty.
  std::vector<uint64_t> groups;          // [b], the `qid` (0: none), or empty
                                         // if no record has one.

  // Records; b above.
  size_t size() const { return labels.size(); }
  bool empty() const { return labels.empty(); }

  // Removes the records and keeps the memory.
  void Clear();

  // Appends row `row` of `from`.
  void AppendRow(const Batch& from, size_t row);

  // Bytes that the records take (not those that the vectors have in reserve).
  size_t ByteSize() const;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_BATCH_H_
