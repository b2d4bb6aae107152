#include "worker/data/byte_locks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<ByteLocks>> ByteLocks::Open(
    const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open '", path, "'"));
  }
  return absl::WrapUnique(new ByteLocks(fd, path));
}

ByteLocks::ByteLocks(int fd, std::string path)
    : fd_(fd), path_(std::move(path)) {}

ByteLocks::~ByteLocks() { ::close(fd_); }

absl::Status ByteLocks::Lock(uint64_t byte) {
  return Set(F_OFD_SETLKW, F_WRLCK, byte);
}

absl::Status ByteLocks::LockShared(uint64_t byte) {
  return Set(F_OFD_SETLKW, F_RDLCK, byte);
}

bool ByteLocks::TryLock(uint64_t byte) {
  return Set(F_OFD_SETLK, F_WRLCK, byte).ok();
}

void ByteLocks::Unlock(uint64_t byte) {
  Set(F_OFD_SETLK, F_UNLCK, byte).IgnoreError();  // Cannot fail.
}

absl::Status ByteLocks::Set(int command, short type, uint64_t byte) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(byte);
  range.l_len = 1;
  while (::fcntl(fd_, command, &range) != 0) {
    if (errno == EINTR) continue;
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot lock '", path_, "'"));
  }
  return absl::OkStatus();
}

}  // namespace seraph
