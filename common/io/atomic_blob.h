// A file of a BlobFolder that is there whole or not at all.
#ifndef SERAPH_COMMON_IO_ATOMIC_BLOB_H_
#define SERAPH_COMMON_IO_ATOMIC_BLOB_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/io/blob_folder.h"

namespace seraph {

// Writes "<name>.tmp-<n>" and gives it the name when all is on disk: after
// Commit() returns OK the file survives a power cut, and until then whoever
// opens the name finds the old file, or none. Destroyed without a Commit() it
// removes what it wrote; a process that is killed leaves a temporary file.
//
// Errors: as BlobFolder; after one every later call returns it.
// Threads: one at a time.
class AtomicBlob {
 public:
  // `folder` must outlive this.
  static absl::StatusOr<std::unique_ptr<AtomicBlob>> Create(
      BlobFolder* folder, const std::string& name);

  ~AtomicBlob();
  AtomicBlob(const AtomicBlob&) = delete;
  AtomicBlob& operator=(const AtomicBlob&) = delete;

  absl::Status Append(absl::string_view bytes);

  // Syncs the file, renames it and syncs the folder. Nothing may be called
  // afterwards. After an error of the last step the file may have its name; it
  // is removed as well as that can be done.
  absl::Status Commit();

  // Bytes appended so far: the offset of the next one.
  uint64_t size() const { return size_; }

 private:
  AtomicBlob(BlobFolder* folder, std::string name, std::string temporary,
             std::unique_ptr<BlobWriter> writer);

  absl::Status Fail(absl::Status status);

  BlobFolder* const folder_;
  const std::string name_;
  std::string written_;  // What a failure removes; "" once it is safe.
  std::unique_ptr<BlobWriter> writer_;
  uint64_t size_ = 0;
  absl::Status status_;
};

// The name that a temporary file is for; "" for any other name.
std::string TemporaryFor(absl::string_view name);

}  // namespace seraph

#endif  // SERAPH_COMMON_IO_ATOMIC_BLOB_H_
