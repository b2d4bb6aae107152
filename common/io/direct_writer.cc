#include "common/io/direct_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
// What any disk wants memory and lengths to be a multiple of.
constexpr size_t kAlignment = 4096;

absl::Status ErrnoStatus(int error_number, absl::string_view what,
                         absl::string_view path) {
  return absl::ErrnoToStatus(error_number,
                             absl::StrCat("cannot ", what, " '", path, "'"));
}

}  // namespace

DirectWriter::DirectWriter(std::string path, int fd)
    : path_(std::move(path)), fd_(fd) {}

DirectWriter::~DirectWriter() {
  if (fd_ >= 0) close(fd_);
}

absl::Status DirectWriter::Append(absl::string_view bytes) {
  SERAPH_RETURN_IF_ERROR(status_);
  if (buffer_ == nullptr) {
    buffer_.reset(
        static_cast<char*>(std::aligned_alloc(kAlignment, kBufferBytes)));
    if (buffer_ == nullptr)
      return status_ = ErrnoStatus(ENOMEM, "write", path_);
  }
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kBufferBytes - buffered_);
    std::memcpy(buffer_.get() + buffered_, bytes.data(), n);
    buffered_ += n;
    bytes.remove_prefix(n);
    if (buffered_ == kBufferBytes) {
      SERAPH_RETURN_IF_ERROR(Flush(/*whole=*/true));
    }
  }
  return absl::OkStatus();
}

absl::Status DirectWriter::Sync() {
  SERAPH_RETURN_IF_ERROR(status_);
  SERAPH_RETURN_IF_ERROR(Flush(/*whole=*/false));
  buffer_.reset();
  if (fsync(fd_) != 0) return status_ = ErrnoStatus(errno, "sync", path_);
  // Some file systems report a full disk only here.
  const int closed = close(fd_);
  fd_ = -1;
  if (closed != 0) return status_ = ErrnoStatus(errno, "write", path_);
  return absl::OkStatus();
}

absl::Status DirectWriter::Flush(bool whole) {
  const char* from = buffer_.get();
  size_t left = std::exchange(buffered_, 0);
  if (left == 0) return absl::OkStatus();
  SetDirect(whole && may_direct_);
  while (left > 0) {
    const ssize_t written = write(fd_, from, left);
    if (written >= 0) {
      was_direct_ |= direct_;
      from += written;
      left -= written;
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    // A disk that takes no such pieces, or a short write before this one.
    if (error == EINVAL && direct_) {
      may_direct_ = false;
      if (!SetDirect(false)) continue;
    }
    return status_ = ErrnoStatus(error, "write", path_);
  }
  return absl::OkStatus();
}

bool DirectWriter::SetDirect(bool direct) {
  if (direct == direct_) return direct_;
  const int flags = fcntl(fd_, F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  if (flags >= 0 && fcntl(fd_, F_SETFL, wanted) == 0) {
    direct_ = direct;
  } else if (direct) {
    may_direct_ = false;
  }
  return direct_;
}

}  // namespace seraph
