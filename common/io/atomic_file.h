// A file that is there whole or not at all.
#ifndef SERAPH_COMMON_IO_ATOMIC_FILE_H_
#define SERAPH_COMMON_IO_ATOMIC_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace seraph {

// Writes a temporary file beside the target and gives it the target's name when
// all is on disk: after Commit() returns OK the file survives a power cut, and
// until then whoever opens the target finds the old file, or none. Destroyed
// without a Commit(), it leaves nothing behind.
//
// Errors of all methods name the target and the system's reason: NotFound,
// PermissionDenied, ResourceExhausted (disk full, too many files), Internal ...
// After an error every later call returns that error.
//
// Threads: one at a time. Memory: a buffer of 256 KiB.
class AtomicFile {
 public:
  // Creates the folders above `path` that are missing, and the temporary file
  // "<path>.tmp-<unique>".
  // Errors: FailedPrecondition where `path` is a folder.
  static absl::StatusOr<std::unique_ptr<AtomicFile>> Create(
      const std::string& path);

  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  absl::Status Append(absl::string_view bytes);

  // Writes what is buffered, syncs the file, renames it over the target and
  // syncs the folder. Nothing may be called afterwards.
  absl::Status Commit();

  // Bytes appended so far: the offset of the next one.
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  AtomicFile(std::string path, std::string temporary_path, int fd);

  absl::Status Flush();
  absl::Status Fail(absl::string_view what, int error_number);
  void Discard();

  const std::string path_;
  std::string temporary_path_;  // "" once it is renamed or removed.
  int fd_;                      // -1 once closed.
  uint64_t size_ = 0;
  std::string buffer_;
  absl::Status status_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_IO_ATOMIC_FILE_H_
