#include "common/dataset/input_files.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

int64_t ModifiedNs(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec;
}

absl::Status PathError(int error, absl::string_view what,
                       const std::string& path) {
  return absl::ErrnoToStatus(error, absl::StrCat(what, " '", path, "'"));
}

bool IsHidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return !name.empty() && (name[0] == '.' || name[0] == '_');
}

// Every regular file under `folder`; symbolic links are followed for files, not
// for folders, so that a link to a parent does no harm.
absl::Status AddFolder(const std::string& folder,
                       std::vector<std::string>* paths) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) return PathError(error.value(), "cannot read folder", folder);
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) break;
    const fs::directory_entry& entry = *entries;
    if (IsHidden(entry.path())) continue;
    std::error_code ignored;  // A dangling link is no regular file.
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) {
      SERAPH_RETURN_IF_ERROR(AddFolder(entry.path().string(), paths));
    } else if (entry.is_regular_file(ignored)) {
      paths->push_back(entry.path().string());
    }
  }
  if (error) return PathError(error.value(), "cannot read folder", folder);
  return absl::OkStatus();
}

absl::Status AddFileOrFolder(const std::string& path, const struct stat& info,
                             std::vector<std::string>* paths) {
  if (!S_ISDIR(info.st_mode)) {
    paths->push_back(path);
    return absl::OkStatus();
  }
  const size_t before = paths->size();
  SERAPH_RETURN_IF_ERROR(AddFolder(path, paths));
  if (paths->size() == before) {
    return absl::NotFoundError(
        absl::StrCat("folder '", path, "' has no files"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern) {
  glob_t matches = {};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> freed(&matches, ::globfree);
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR,
                            /*errfunc=*/nullptr, &matches);
  if (result == GLOB_NOMATCH) {
    return absl::NotFoundError(absl::StrCat("no file matches '", pattern, "'"));
  }
  if (result != 0) {
    return PathError(result == GLOB_NOSPACE ? ENOMEM : errno,
                     "cannot read the folders of", pattern);
  }
  return std::vector<std::string>(matches.gl_pathv,
                                  matches.gl_pathv + matches.gl_pathc);
}

absl::Status AddPattern(const std::string& pattern,
                        std::vector<std::string>* paths) {
  struct stat info;
  if (::stat(pattern.c_str(), &info) == 0) {
    return AddFileOrFolder(pattern, info, paths);
  }
  const int error = errno;
  if (pattern.find_first_of("*?[") == std::string::npos) {
    return PathError(error, "cannot read", pattern);
  }
  SERAPH_ASSIGN_OR_RETURN(const std::vector<std::string> matches,
                          Glob(pattern));
  for (const std::string& match : matches) {
    if (::stat(match.c_str(), &info) != 0) {
      return PathError(errno, "cannot read", match);
    }
    SERAPH_RETURN_IF_ERROR(AddFileOrFolder(match, info, paths));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FileStamp> StampFile(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return PathError(errno, "cannot read", path);
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' is ",
        S_ISDIR(info.st_mode) ? "a folder" : "not a regular file"));
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PathError(errno, "cannot read", path);
  ::close(fd);
  return FileStamp{path, static_cast<uint64_t>(info.st_size), ModifiedNs(info)};
}

absl::StatusOr<std::vector<FileStamp>> ResolveInputFiles(
    const std::string& base_dir, absl::Span<const std::string> patterns) {
  if (patterns.empty()) {
    return absl::InvalidArgumentError("the list of files is empty");
  }
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) {
      return absl::InvalidArgumentError("a path in the list of files is empty");
    }
    const fs::path joined = fs::path(base_dir) / pattern;  // Or the absolute.
    std::string normal = joined.lexically_normal().string();
    if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
    SERAPH_RETURN_IF_ERROR(AddPattern(normal, &paths));
  }
  std::sort(paths.begin(), paths.end());  // std::string compares bytes.
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::vector<FileStamp> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) {
    SERAPH_ASSIGN_OR_RETURN(FileStamp file, StampFile(path));
    files.push_back(std::move(file));
  }
  return files;
}

absl::Status VerifyUnchanged(const FileStamp& file) {
  SERAPH_ASSIGN_OR_RETURN(const FileStamp now, StampFile(file.path));
  if (now == file) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "'", file.path, "' has changed since the job began: it had ",
      file.size_bytes, " bytes and has ", now.size_bytes,
      now.size_bytes == file.size_bytes ? ", written at another time" : ""));
}

}  // namespace seraph
