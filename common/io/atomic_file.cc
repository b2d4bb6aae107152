#include "common/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "common/testing/fail_point.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr int kNameAttempts = 100;

absl::Status ErrnoStatus(int error_number, absl::string_view what,
                         const std::string& path) {
  return absl::ErrnoToStatus(error_number,
                             absl::StrCat("cannot ", what, " '", path, "'"));
}

// A name that no other writer of this machine has now. A name that is left over
// from a killed process is found by O_EXCL.
std::string UniqueSuffix() {
  static std::atomic<uint32_t> counter{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return absl::StrCat(".tmp-", getpid(), "-", counter.fetch_add(1), "-",
                      absl::Hex(now.count()));
}

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Through a symbolic link the file that it points to is replaced, not the link.
absl::StatusOr<std::string> Target(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot create '", path, "': it is a folder"));
  }
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot create '", path, "': it is no regular file"));
  }
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  if (error) return ErrnoStatus(error.value(), "follow the link", path);
  return target.string();
}

absl::Status SyncFolder(const std::string& path) {
  const std::string folder = FolderOf(path);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open the folder", folder);
  // Some file systems cannot sync a folder, and say so by EINVAL.
  const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  if (error != 0) return ErrnoStatus(error, "sync the folder", folder);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<AtomicFile>> AtomicFile::Create(
    const std::string& path) {
  if (path.empty()) {
    return absl::InvalidArgumentError("cannot create a file without a name");
  }
  SERAPH_ASSIGN_OR_RETURN(std::string target, Target(path));
  std::error_code error;
  fs::create_directories(FolderOf(target), error);
  if (error) {
    return ErrnoStatus(error.value(), "create the folder", FolderOf(target));
  }
  for (int attempt = 0;; ++attempt) {
    std::string temporary = absl::StrCat(target, UniqueSuffix());
    const int fd =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      return absl::WrapUnique(
          new AtomicFile(std::move(target), std::move(temporary), fd));
    }
    if (errno != EEXIST || attempt == kNameAttempts) {
      return ErrnoStatus(errno, "create", path);
    }
  }
}

AtomicFile::AtomicFile(std::string path, std::string temporary_path, int fd)
    : path_(std::move(path)),
      temporary_path_(std::move(temporary_path)),
      fd_(fd) {
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() { Discard(); }

absl::Status AtomicFile::Append(absl::string_view bytes) {
  SERAPH_RETURN_IF_ERROR(status_);
  size_ += bytes.size();
  while (!bytes.empty()) {
    const size_t room = kBufferBytes - buffer_.size();
    const absl::string_view part = bytes.substr(0, room);
    buffer_.append(part.data(), part.size());
    bytes.remove_prefix(part.size());
    if (buffer_.size() == kBufferBytes) SERAPH_RETURN_IF_ERROR(Flush());
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  SERAPH_RETURN_IF_ERROR(status_);
  SERAPH_RETURN_IF_ERROR(Flush());
  if (fsync(fd_) != 0) return Fail("sync", errno);
  // Some file systems report a full disk only here.
  const int closed = close(fd_);
  fd_ = -1;
  if (closed != 0) return Fail("write", errno);
  FailPoint("file.naming");
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return Fail("rename the temporary file to", errno);
  }
  temporary_path_.clear();
  status_ = absl::FailedPreconditionError(
      absl::StrCat("'", path_, "' is already complete"));
  return SyncFolder(path_);
}

absl::Status AtomicFile::Flush() {
  absl::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return Fail("write", errno);
    }
    rest.remove_prefix(written);
  }
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status AtomicFile::Fail(absl::string_view what, int error_number) {
  status_ = ErrnoStatus(error_number, what, path_);
  Discard();
  return status_;
}

void AtomicFile::Discard() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
  temporary_path_.clear();
}

}  // namespace seraph
