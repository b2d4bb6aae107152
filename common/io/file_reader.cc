#include "common/io/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

absl::Status CannotRead(int error_number, const std::string& path) {
  return absl::ErrnoToStatus(error_number,
                             absl::StrCat("cannot read '", path, "'"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileReader>> FileReader::Open(
    const std::string& path) {
  // Without waiting: opening a FIFO would, until somebody writes to it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return CannotRead(errno, path);
  struct stat info;
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return CannotRead(error, path);
  }
  auto file = absl::WrapUnique(
      new FileReader(path, fd, static_cast<uint64_t>(info.st_size)));
  if (S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read '", path, "': it is a folder"));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read '", path, "': it is no regular file"));
  }
  return file;
}

FileReader::FileReader(std::string path, int fd, uint64_t size)
    : path_(std::move(path)), fd_(fd), size_(size) {}

FileReader::~FileReader() { close(fd_); }

absl::Status FileReader::Read(size_t bytes, std::string* to) {
  to->clear();
  while (to->size() < bytes) {
    if (used_ == buffer_.size()) SERAPH_RETURN_IF_ERROR(Fill());
    if (buffer_.empty()) break;
    const size_t n = std::min(bytes - to->size(), buffer_.size() - used_);
    to->append(buffer_, used_, n);
    used_ += n;
    offset_ += n;
  }
  return absl::OkStatus();
}

absl::Status FileReader::Fill() {
  buffer_.resize(kBufferBytes);
  used_ = 0;
  ssize_t n;
  do {
    n = read(fd_, buffer_.data(), buffer_.size());
  } while (n < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(std::max<ssize_t>(n, 0));
  if (n < 0) return CannotRead(error, path_);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          uint64_t max_bytes) {
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> file,
                          FileReader::Open(path));
  std::string text;
  SERAPH_RETURN_IF_ERROR(file->Read(max_bytes + 1, &text));
  if (text.size() > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("'", path, "' is longer than ", max_bytes, " bytes"));
  }
  return text;
}

}  // namespace seraph
