// Random access to the uncompressed bytes of an input file.
#ifndef SERAPH_WORKER_DATA_DATA_FILE_H_
#define SERAPH_WORKER_DATA_DATA_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace seraph {

// Threads: every method may be called from any thread.
class DataFile {
 public:
  // Opens `stored_path`, which holds the bytes of the input file `path` (the
  // same one, or a decompressed copy); messages name `path`.
  // Errors: those of opening a file, by errno.
  static absl::StatusOr<std::unique_ptr<DataFile>> Open(
      const std::string& stored_path, std::string path);

  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }

  // Reads up to `size` bytes from `offset` on; fewer only at the end.
  // Errors: what reading gives, by errno, naming the path.
  absl::StatusOr<size_t> Read(uint64_t offset, size_t size, char* buffer) const;

 private:
  DataFile(int fd, uint64_t size, std::string path);

  const int fd_;
  const uint64_t size_;
  const std::string path_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_DATA_FILE_H_
