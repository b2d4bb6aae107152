#include "common/io/posix_blob_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/io/direct_writer.h"
#include "common/io/file_reader.h"
#include "common/status/status_macros.h"
#include "common/testing/fail_point.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

absl::Status ErrnoStatus(int error_number, absl::string_view what,
                         absl::string_view path) {
  return absl::ErrnoToStatus(error_number,
                             absl::StrCat("cannot ", what, " '", path, "'"));
}

class Reader final : public BlobReader {
 public:
  explicit Reader(std::unique_ptr<FileReader> file) : file_(std::move(file)) {}

  absl::Status Read(size_t bytes, std::string* to) override {
    return file_->Read(bytes, to);
  }

  uint64_t size() const override { return file_->size(); }

 private:
  const std::unique_ptr<FileReader> file_;
};

// Makes what a folder contains survive a power cut.
absl::Status SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open the folder", path);
  // Some file systems cannot sync a folder, and say so by EINVAL.
  const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  if (error != 0) return ErrnoStatus(error, "sync the folder", path);
  return absl::OkStatus();
}

// The folder and those above it, each entered durably into the one above it.
absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error)) return absl::OkStatus();
  const std::string parent = fs::path(path).parent_path().string();
  SERAPH_RETURN_IF_ERROR(MakeFolder(parent));
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "create the folder", path);
  }
  return SyncFolder(parent.empty() ? "." : parent);
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

PosixBlobFolder::PosixBlobFolder(std::string path)
    : path_(WithoutSlash(std::move(path))) {}

absl::StatusOr<std::unique_ptr<BlobWriter>> PosixBlobFolder::Create(
    const std::string& name) {
  SERAPH_RETURN_IF_ERROR(MakeFolder(path_));
  std::string path = PathOf(name);
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoStatus(errno, "create", path);
  return std::make_unique<DirectWriter>(std::move(path), fd);
}

absl::Status PosixBlobFolder::Rename(const std::string& from,
                                     const std::string& to) {
  FailPoint("checkpoint.naming");
  if (rename(PathOf(from).c_str(), PathOf(to).c_str()) != 0) {
    const int error = errno;
    return ErrnoStatus(error, "rename the temporary file to", PathOf(to));
  }
  return absl::OkStatus();
}

absl::Status PosixBlobFolder::Remove(const std::string& name) {
  if (unlink(PathOf(name).c_str()) != 0) {
    const int error = errno;
    return ErrnoStatus(error, "remove", PathOf(name));
  }
  return absl::OkStatus();
}

absl::Status PosixBlobFolder::Sync() { return SyncFolder(path_); }

absl::StatusOr<std::unique_ptr<BlobReader>> PosixBlobFolder::Open(
    const std::string& name) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<FileReader> file,
                          FileReader::Open(PathOf(name)));
  return std::make_unique<Reader>(std::move(file));
}

absl::StatusOr<std::vector<BlobInfo>> PosixBlobFolder::List() {
  std::vector<BlobInfo> files;
  std::error_code error;
  fs::directory_iterator entries(path_, error);
  if (error == std::errc::no_such_file_or_directory) return files;
  for (; !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    std::error_code gone;  // Another process may remove it just now.
    if (!entries->is_regular_file(gone)) continue;
    const uint64_t bytes = entries->file_size(gone);
    if (gone) continue;
    files.push_back({entries->path().filename().string(), bytes});
  }
  if (error) return ErrnoStatus(error.value(), "list the folder", path_);
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

}  // namespace seraph
