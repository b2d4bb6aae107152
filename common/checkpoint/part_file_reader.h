// Reads one file of a part.
#ifndef SERAPH_COMMON_CHECKPOINT_PART_FILE_READER_H_
#define SERAPH_COMMON_CHECKPOINT_PART_FILE_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/cut_part.h"
#include "common/checkpoint/part_format.h"
#include "common/io/blob_folder.h"
#include "xxhash.h"

namespace seraph {

// Checks all of the file: size and checksum are those that the manifest names,
// and so is each section's checksum; the footer lists what was read.
//
// Errors name the file: NotFound, PermissionDenied, ... the system's reason;
// InvalidArgument for a version that this build cannot read; DataLoss, with
// the offset, for a file that is damaged or not the one that is named. After an
// error every later call returns it.
// Threads: one at a time. Memory: one block.
class PartFileReader {
 public:
  // Reads the head. `folder` must outlive this.
  static absl::StatusOr<std::unique_ptr<PartFileReader>> Open(
      BlobFolder* folder, const CutFile& file);

  const PartHead& head() const { return head_; }

  // The next block; false at the end, when all of the file was found right.
  absl::StatusOr<bool> Next(PartBlock* block);

  // DataLoss that names the file and the section read last.
  absl::Status Damaged(absl::string_view what) const;

 private:
  PartFileReader(std::string path, const CutFile& file,
                 std::unique_ptr<BlobReader> reader);

  absl::Status ReadHead();
  absl::StatusOr<bool> ReadNext(PartBlock* block);
  // Exactly that many bytes.
  absl::Status Read(size_t bytes, std::string* to);
  // The next section, its checksum checked, as tag_ and payload_.
  absl::Status ReadSection();

  const std::string path_;
  const CutFile file_;
  const std::unique_ptr<BlobReader> reader_;
  absl::Status status_;
  bool complete_ = false;
  PartHead head_;
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;          // Of the next byte.
  uint64_t section_offset_ = 0;  // Of the section read last.
  std::string tag_;
  std::string payload_;
  std::vector<PartIndexEntry> index_;  // What was read.
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> whole_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_PART_FILE_READER_H_
