// The files of one partition in a checkpoint.
#ifndef SERAPH_COMMON_CHECKPOINT_CUT_PART_H_
#define SERAPH_COMMON_CHECKPOINT_CUT_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/key.h"

namespace seraph {

struct CutFile {
  std::string name;  // In the job's folder.
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3 of the whole file.

  friend bool operator==(const CutFile&, const CutFile&) = default;
};

struct CutPart {
  uint32_t table = 0;
  uint32_t partition = 0;
  KeyRange range;  // Mixed.
  uint64_t rows = 0;
  // Oldest first: a block of a later file takes the place of that of an earlier
  // one.
  std::vector<CutFile> files;

  friend bool operator==(const CutPart&, const CutPart&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_CUT_PART_H_
