#include "worker/data/data_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<DataFile>> DataFile::Open(
    const std::string& stored_path, std::string path) {
  const int fd = ::open(stored_path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot read '", path, "'"));
  }
  return absl::WrapUnique(
      new DataFile(fd, static_cast<uint64_t>(info.st_size), std::move(path)));
}

DataFile::DataFile(int fd, uint64_t size, std::string path)
    : fd_(fd), size_(size), path_(std::move(path)) {}

DataFile::~DataFile() { ::close(fd_); }

absl::StatusOr<size_t> DataFile::Read(uint64_t offset, size_t size,
                                      char* buffer) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd_, buffer + done, size - done,
                                static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      return absl::ErrnoToStatus(errno,
                                 absl::StrCat("cannot read '", path_, "'"));
    }
    done += got;
  }
  return done;
}

}  // namespace seraph
