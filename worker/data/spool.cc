#include "worker/data/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/dataset/stream_reader.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kFolderPrefix = "seraph-spool-";
constexpr absl::string_view kLockName = "/lock";

absl::Status PathError(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " '", path, "'"));
}

// A descriptor of `path`, locked; it is free again when its process is gone.
absl::StatusOr<int> Lock(const std::string& path, int how) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return PathError("cannot write", path);
  if (::flock(fd, how) != 0) {
    const absl::Status status = PathError("cannot lock", path);
    ::close(fd);
    return status;
  }
  return fd;
}

// Removes the folders below `directory` whose processes are gone.
void RemoveLeftovers(const std::string& directory) {
  std::vector<std::string> folders;
  std::error_code ignored;  // What cannot be removed stays.
  for (const fs::directory_entry& entry :
       fs::directory_iterator(directory, ignored)) {
    if (absl::StartsWith(entry.path().filename().string(), kFolderPrefix)) {
      folders.push_back(entry.path().string());
    }
  }
  for (const std::string& folder : folders) {
    const absl::StatusOr<int> lock =
        Lock(absl::StrCat(folder, kLockName), LOCK_EX | LOCK_NB);
    if (!lock.ok()) continue;
    fs::remove_all(folder, ignored);
    ::close(*lock);
  }
}

absl::Status WriteAll(int fd, const char* data, size_t size,
                      const std::string& path) {
  while (size > 0) {
    const ssize_t put = ::write(fd, data, size);
    if (put < 0) {
      if (errno == EINTR) continue;
      return PathError("cannot decompress into", path);
    }
    data += put;
    size -= put;
  }
  return absl::OkStatus();
}

absl::Status Decompress(StreamReader* reader, const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return PathError("cannot decompress into", path);
  std::vector<char> buffer(1 << 20);
  absl::Status status;
  while (status.ok()) {
    const absl::StatusOr<size_t> size =
        reader->Read(buffer.data(), buffer.size());
    status = size.status();
    if (!status.ok() || *size == 0) break;
    status = WriteAll(fd, buffer.data(), *size, path);
  }
  if (::close(fd) != 0 && status.ok()) {
    status = PathError("cannot decompress into", path);
  }
  return status;
}

}  // namespace

SpooledFile::SpooledFile(FileStamp input, std::string copy_path)
    : input_(std::move(input)), copy_path_(std::move(copy_path)) {}

SpooledFile::~SpooledFile() {
  if (!copy_path_.empty()) ::unlink(copy_path_.c_str());
}

absl::StatusOr<std::unique_ptr<DataFile>> SpooledFile::Open() const {
  SERAPH_RETURN_IF_ERROR(VerifyUnchanged(input_));
  return DataFile::Open(copy_path_.empty() ? input_.path : copy_path_,
                        input_.path);
}

absl::StatusOr<std::unique_ptr<Spool>> Spool::Create(
    const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    errno = error.value();
    return PathError("cannot make folder", directory);
  }
  // While this is locked nobody's folder is without its own lock.
  SERAPH_ASSIGN_OR_RETURN(
      const int directory_lock,
      Lock(absl::StrCat(directory, "/", kFolderPrefix, "lock"), LOCK_EX));
  RemoveLeftovers(directory);
  std::string folder = absl::StrCat(directory, "/", kFolderPrefix, "XXXXXX");
  absl::StatusOr<int> lock;
  if (::mkdtemp(folder.data()) == nullptr) {
    lock = PathError("cannot make a folder in", directory);
  } else {
    lock = Lock(absl::StrCat(folder, kLockName), LOCK_EX | LOCK_NB);
  }
  ::close(directory_lock);
  if (!lock.ok()) return lock.status();
  return absl::WrapUnique(new Spool(std::move(folder), *lock));
}

Spool::Spool(std::string folder, int lock_fd)
    : folder_(std::move(folder)), lock_fd_(lock_fd) {}

Spool::~Spool() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  ::close(lock_fd_);
}

absl::StatusOr<std::shared_ptr<const SpooledFile>> Spool::Get(
    const FileStamp& input) {
  std::shared_ptr<Entry> entry;
  {
    MutexLock lock(&mu_);
    std::shared_ptr<Entry>& slot = entries_[input.path];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  // Decompressing under the entry's lock is the point of it: whoever else wants
  // this very file waits for it.
  MutexLock lock(&entry->mu);
  if (std::shared_ptr<const SpooledFile> file = entry->file.lock();
      file != nullptr && file->input_ == input) {
    return file;
  }
  SERAPH_ASSIGN_OR_RETURN(std::shared_ptr<const SpooledFile> file, Make(input));
  entry->file = file;
  return file;
}

absl::StatusOr<std::shared_ptr<const SpooledFile>> Spool::Make(
    const FileStamp& input) {
  SERAPH_RETURN_IF_ERROR(VerifyUnchanged(input));
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<StreamReader> reader,
                          StreamReader::Open(input.path));
  std::string copy_path;
  if (reader->compression() != Compression::kNone) {
    MutexLock lock(&mu_);
    copy_path = absl::StrCat(folder_, "/", ++copies_);
  }
  // From here on the copy is removed with `file`.
  std::shared_ptr<const SpooledFile> file(
      new SpooledFile(input, std::move(copy_path)));
  if (!file->copy_path_.empty()) {
    // Somebody may have cleaned up the folder that it lies in.
    std::error_code ignored;
    std::filesystem::create_directories(folder_, ignored);
    SERAPH_RETURN_IF_ERROR(Decompress(reader.get(), file->copy_path_));
  }
  return file;
}

}  // namespace seraph
