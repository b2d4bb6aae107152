#include "worker/data/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/draw.h"
#include "common/dataset/stream_reader.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kLockFile = "locks";
constexpr absl::string_view kUnfinished = ".part";

absl::Status PathError(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " '", path, "'"));
}

// The same in every process, and another one when the file changes.
std::string CopyName(const FileStamp& input) {
  return absl::StrCat(absl::Hex(DrawLabel(input.path), absl::kZeroPad16), "-",
                      input.size_bytes, "-", input.modified_ns);
}

// Every copy has two locks. Held exclusively while the copy is made or removed:
uint64_t ChangeLock(absl::string_view name) { return DrawLabel(name) >> 2; }
// Held shared by every process that uses the copy:
uint64_t UseLock(absl::string_view name) {
  return ChangeLock(name) | uint64_t{1} << 62;
}

absl::Status MakeOwnFolder(const std::string& path) {
  struct stat info;
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return PathError("cannot make folder", path);
  }
  // Not followed: a link may lead to where others put their own copies.
  if (::lstat(path.c_str(), &info) != 0) {
    return PathError("cannot read folder", path);
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat("'", path, "' is not a folder of this user's"));
  }
  return absl::OkStatus();
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
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
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

SpooledFile::SpooledFile(Spool* spool, FileStamp input, std::string copy_name,
                         uint64_t copy_bytes)
    : spool_(*spool),
      input_(std::move(input)),
      copy_name_(std::move(copy_name)),
      copy_bytes_(copy_bytes) {}

SpooledFile::~SpooledFile() {
  if (!copy_name_.empty()) spool_.DropCopy(copy_name_);
}

absl::StatusOr<std::unique_ptr<DataFile>> SpooledFile::Open() const {
  SERAPH_RETURN_IF_ERROR(VerifyUnchanged(input_));
  return DataFile::Open(
      copy_name_.empty() ? input_.path : spool_.PathOf(copy_name_),
      input_.path);
}

absl::StatusOr<std::unique_ptr<Spool>> Spool::Create(
    const std::string& directory, uint64_t kept_bytes) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    errno = error.value();
    return PathError("cannot make folder", directory);
  }
  std::string folder = absl::StrCat(directory, "/seraph-spool-", ::geteuid());
  SERAPH_RETURN_IF_ERROR(MakeOwnFolder(folder));
  SERAPH_ASSIGN_OR_RETURN(
      std::unique_ptr<ByteLocks> locks,
      ByteLocks::Open(absl::StrCat(folder, "/", kLockFile)));
  auto spool = absl::WrapUnique(
      new Spool(std::move(folder), std::move(locks), kept_bytes));
  spool->RemoveLeftovers();
  return spool;
}

Spool::Spool(std::string folder, std::unique_ptr<ByteLocks> locks,
             uint64_t kept_bytes)
    : folder_(std::move(folder)),
      locks_(std::move(locks)),
      kept_bytes_(kept_bytes) {}

Spool::~Spool() {
  std::list<std::shared_ptr<const SpooledFile>> dropped;
  MutexLock lock(&mu_);
  dropped.swap(kept_);
}

absl::StatusOr<std::shared_ptr<const SpooledFile>> Spool::Get(
    const FileStamp& input) {
  SERAPH_RETURN_IF_ERROR(VerifyUnchanged(input));
  const std::string name = CopyName(input);
  const std::shared_ptr<Entry> entry = EntryOf(name);
  std::shared_ptr<const SpooledFile> file;
  {
    // Decompressing under the entry's lock is the point of it: whoever else
    // wants this very file waits for it.
    MutexLock lock(&entry->mu);
    file = entry->file.lock();
    if (file == nullptr) {
      SERAPH_ASSIGN_OR_RETURN(file, Make(input, name));
      entry->file = file;
    }
  }
  if (!file->copy_name_.empty()) Keep(file);
  return file;
}

std::shared_ptr<Spool::Entry> Spool::EntryOf(const std::string& name) {
  MutexLock lock(&mu_);
  std::shared_ptr<Entry>& entry = entries_[name];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  return entry;
}

absl::StatusOr<std::shared_ptr<const SpooledFile>> Spool::Make(
    const FileStamp& input, const std::string& name) {
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<StreamReader> reader,
                          StreamReader::Open(input.path));
  if (reader->compression() == Compression::kNone) {
    return std::shared_ptr<const SpooledFile>(
        new SpooledFile(this, input, "", 0));
  }
  SERAPH_RETURN_IF_ERROR(locks_->Lock(ChangeLock(name)));
  absl::Status status = locks_->LockShared(UseLock(name));
  if (status.ok()) {
    status = MakeCopy(reader.get(), name);
    if (!status.ok()) locks_->Unlock(UseLock(name));
  }
  locks_->Unlock(ChangeLock(name));
  SERAPH_RETURN_IF_ERROR(status);
  std::error_code error;
  const uint64_t bytes = fs::file_size(PathOf(name), error);
  return std::shared_ptr<const SpooledFile>(
      new SpooledFile(this, input, name, error ? 0 : bytes));
}

// Requires: both locks are held.
absl::Status Spool::MakeCopy(StreamReader* reader, const std::string& name) {
  const std::string path = PathOf(name);
  if (::access(path.c_str(), F_OK) == 0) return absl::OkStatus();
  const std::string unfinished = absl::StrCat(path, kUnfinished);
  absl::Status status = Decompress(reader, unfinished);
  if (status.ok() && ::rename(unfinished.c_str(), path.c_str()) != 0) {
    status = PathError("cannot write", path);
  }
  if (!status.ok()) ::unlink(unfinished.c_str());
  return status;
}

void Spool::DropCopy(const std::string& name) {
  const std::shared_ptr<Entry> entry = EntryOf(name);
  MutexLock lock(&entry->mu);
  // Meanwhile another thread may have found the copy and use it.
  if (!entry->file.expired()) return;
  if (!locks_->Lock(ChangeLock(name)).ok()) return;
  if (locks_->TryLock(UseLock(name))) ::unlink(PathOf(name).c_str());
  locks_->Unlock(UseLock(name));
  locks_->Unlock(ChangeLock(name));
}

// What nobody uses and nobody makes.
void Spool::RemoveLeftovers() {
  std::vector<std::string> names;
  std::error_code ignored;  // What cannot be removed stays.
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder_, ignored)) {
    names.push_back(entry.path().filename().string());
  }
  for (const std::string& file : names) {
    if (file == kLockFile) continue;
    const absl::string_view name = absl::StripSuffix(file, kUnfinished);
    if (!locks_->TryLock(ChangeLock(name))) continue;
    if (locks_->TryLock(UseLock(name))) ::unlink(PathOf(file).c_str());
    locks_->Unlock(UseLock(name));
    locks_->Unlock(ChangeLock(name));
  }
}

void Spool::Keep(std::shared_ptr<const SpooledFile> file) {
  // Dropped behind the lock: the last user of a copy removes it.
  std::list<std::shared_ptr<const SpooledFile>> dropped;
  MutexLock lock(&mu_);
  kept_.remove(file);
  kept_.push_front(std::move(file));
  uint64_t bytes = 0;
  auto end = kept_.begin();
  while (end != kept_.end() && bytes + (*end)->copy_bytes_ <= kept_bytes_) {
    bytes += (*end)->copy_bytes_;
    ++end;
  }
  dropped.splice(dropped.begin(), kept_, end, kept_.end());
}

std::string Spool::PathOf(const std::string& name) const {
  return absl::StrCat(folder_, "/", name);
}

}  // namespace seraph
