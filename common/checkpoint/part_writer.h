// Writes one file of a part.
#ifndef SERAPH_COMMON_CHECKPOINT_PART_WRITER_H_
#define SERAPH_COMMON_CHECKPOINT_PART_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/checkpoint/cut_part.h"
#include "common/checkpoint/part_format.h"
#include "common/io/atomic_blob.h"
#include "common/io/blob_folder.h"
#include "xxhash.h"

namespace seraph {

// The file gets its name when all of it is on disk; a writer that is destroyed
// before leaves nothing behind.
//
// Errors of all methods: whatever the folder says, with the file's path
// (ResourceExhausted when the disk is full). After an error every later call
// returns it.
// Threads: one at a time. Memory: one block.
class PartWriter {
 public:
  // `folder` must outlive this.
  static absl::StatusOr<std::unique_ptr<PartWriter>> Create(
      BlobFolder* folder, const PartHead& head);

  // Requires: each number once, below head.blocks; cells is
  // [keys * head.row_cells].
  absl::Status AddBlock(uint64_t number, absl::Span<const Key> keys,
                        absl::Span<const float> cells);

  absl::StatusOr<CutFile> Finish();

 private:
  PartWriter(std::unique_ptr<AtomicBlob> file, std::string name);

  absl::Status Append(absl::string_view bytes);
  absl::Status WriteSection(absl::string_view tag, absl::string_view payload);

  const std::unique_ptr<AtomicBlob> file_;
  const std::string name_;
  uint64_t seed_ = 0;
  int untried_ = 0;  // Blocks that come as they are.
  std::vector<PartIndexEntry> index_;
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> whole_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_PART_WRITER_H_
