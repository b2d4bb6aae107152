// The header of idx files, the format of the MNIST data.
#ifndef SERAPH_COMMON_DATASET_IDX_HEADER_H_
#define SERAPH_COMMON_DATASET_IDX_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace seraph {

// Of a file of unsigned bytes; no other type of value is read.
struct IdxHeader {
  uint32_t dimensions = 0;    // 1: labels; more: images.
  uint64_t records = 0;       // The first dimension.
  uint64_t width = 1;         // Bytes of a record: the product of the others.
  uint64_t header_bytes = 0;  // The first record follows.
};

// With the most dimensions that are read, 8.
inline constexpr size_t kMaxIdxHeaderBytes = 4 + 8 * 4;

// `head`: the first kMaxIdxHeaderBytes bytes of a file, or all of a shorter.
// Errors: InvalidArgument, for a sentence that begins with the file: "is no idx
// file: ...".
absl::StatusOr<IdxHeader> ParseIdxHeader(absl::string_view head);

}  // namespace seraph

#endif  // SERAPH_COMMON_DATASET_IDX_HEADER_H_
