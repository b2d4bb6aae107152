// The pass over the data before clock 0.
#ifndef SERAPH_WORKER_DATA_SCAN_H_
#define SERAPH_WORKER_DATA_SCAN_H_

#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "common/dataset/dataset_facts.h"
#include "worker/data/record_reader.h"
#include "worker/data/record_rules.h"
#include "worker/data/spool.h"

namespace seraph {

// A piece of one file.
struct ScanTask {
  InputFile file;
  uint32_t file_index = 0;  // In the job's list of files.

  // Bytes [begin, end) of the uncompressed file; an end beyond the file's is
  // its end. Both are multiples of block_bytes (or the end of the file).
  uint64_t begin = 0;
  uint64_t end = std::numeric_limits<uint64_t>::max();

  // The length of the blocks to be cut; > 0.
  uint64_t block_bytes = 0;
};

// Reads every record of the piece by `rules` and returns what was found, as a
// part for MergeFacts(): `files` is empty, lines count from the part's first.
//
// Memory: one block. Errors: as RecordReader; InvalidArgument for a task that
// is not as said above.
absl::StatusOr<DatasetFacts> ScanPart(const ScanTask& task,
                                      const RecordRules& rules, Spool* spool);

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_SCAN_H_
