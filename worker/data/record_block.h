// The records of a block as they are in the file.
#ifndef SERAPH_WORKER_DATA_RECORD_BLOCK_H_
#define SERAPH_WORKER_DATA_RECORD_BLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "worker/data/batch.h"

namespace seraph {

struct RecordBlock {
  // A line that is no record; lines count from 0 in the block.
  struct Bad {
    uint64_t line = 0;
    std::string reason;
  };

  // b records, in the order of the file. Labels are as the file has them.
  Batch records;
  std::vector<uint64_t> offsets;  // [b]: of the first byte, in the file.
  std::vector<uint64_t> lines;    // [b]: from 0 in the block.

  // [b]: the labels that are texts ("" for a number), or empty if there are
  // none.
  std::vector<std::string> label_texts;

  uint64_t line_count = 0;              // That begin in the block.
  uint64_t repeated_index_records = 0;  // Among the b.
  std::vector<Bad> bad;                 // Passed over, in order.

  // Removes everything and keeps the memory.
  void Clear();
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_RECORD_BLOCK_H_
