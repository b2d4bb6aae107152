// A file that is read from its beginning to its end.
#ifndef SERAPH_COMMON_IO_FILE_READER_H_
#define SERAPH_COMMON_IO_FILE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace seraph {

// Errors name the path and the system's reason: NotFound, PermissionDenied,
// Internal (the disk cannot read it) ...
// Threads: one at a time. Memory: a buffer of 256 KiB.
class FileReader {
 public:
  // Errors: FailedPrecondition where `path` is a folder.
  static absl::StatusOr<std::unique_ptr<FileReader>> Open(
      const std::string& path);

  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // Replaces `*to` by the next `bytes` bytes, or by the rest of the file where
  // that is shorter.
  absl::Status Read(size_t bytes, std::string* to);

  uint64_t offset() const { return offset_; }  // Of the next byte.
  uint64_t size() const { return size_; }      // When it was opened.
  const std::string& path() const { return path_; }

 private:
  FileReader(std::string path, int fd, uint64_t size);

  // Fills the empty buffer; it stays empty at the end of the file.
  absl::Status Fill();

  const std::string path_;
  const int fd_;
  const uint64_t size_;
  uint64_t offset_ = 0;
  std::string buffer_;
  size_t used_ = 0;  // buffer_[0, used_) was handed out.
};

// The whole file. Errors: as FileReader; ResourceExhausted for more than
// `max_bytes`.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          uint64_t max_bytes);

}  // namespace seraph

#endif  // SERAPH_COMMON_IO_FILE_READER_H_
