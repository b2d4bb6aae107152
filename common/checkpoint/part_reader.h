// Reads the rows of one partition out of a checkpoint.
#ifndef SERAPH_COMMON_CHECKPOINT_PART_READER_H_
#define SERAPH_COMMON_CHECKPOINT_PART_READER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/cut_part.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/part_file_reader.h"
#include "common/checkpoint/part_format.h"
#include "common/io/blob_folder.h"

namespace seraph {

// Reads a chain of files, the newest first, and gives each block of the newest
// file that has it, once. Checks, beside all that PartFileReader checks, that
// the files are those of this manifest, partition and chain, and that every
// block and row is there. What was given before an error may be of a damaged
// checkpoint: throw it away.
//
// Errors: as PartFileReader.
// Threads: one at a time. Memory: one block, and a bit for each.
class PartReader {
 public:
  // Opens the newest file. `folder`, `manifest` and `part`, one of its parts,
  // must outlive this.
  static absl::StatusOr<std::unique_ptr<PartReader>> Open(
      BlobFolder* folder, const CheckpointManifest& manifest,
      const CutPart& part);

  // Of the newest file.
  const PartHead& head() const { return head_; }

  // Replaces `block`; false at the end, when all was found right.
  absl::StatusOr<bool> Next(PartBlock* block);

 private:
  PartReader(BlobFolder* folder, const CheckpointManifest& manifest,
             const CutPart& part);

  absl::Status OpenNext();
  absl::Status CheckHead() const;
  absl::StatusOr<bool> ReadNext(PartBlock* block);

  BlobFolder* const folder_;
  const CheckpointManifest& manifest_;
  const CutPart& part_;
  PartHead head_;
  size_t left_;  // Files that were not opened yet: part_.files[0, left_).
  uint64_t expected_cut_;
  std::unique_ptr<PartFileReader> file_;
  std::vector<bool> seen_;  // By block.
  uint64_t blocks_ = 0;     // That were seen.
  uint64_t rows_ = 0;       // Given.
  absl::Status status_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_PART_READER_H_
