#include "scheduler/io/state_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace seraph {
namespace fs = std::filesystem;

absl::StatusOr<std::unique_ptr<StateFolder>> StateFolder::Open(
    const std::string& folder) {
  const auto error = [&folder](const std::string& path,
                               const std::string& reason) {
    return absl::FailedPreconditionError(absl::StrCat(
        folder.empty() ? "" : "scheduler.state_directory: ", "cannot use ",
        path, ": ", reason));
  };
  std::error_code failed;
  std::unique_ptr<StateFolder> state;
  if (folder.empty()) {
    std::string path =
        (fs::temp_directory_path(failed) / "seraph-scheduler-XXXXXX").string();
    if (failed || ::mkdtemp(path.data()) == nullptr) {
      return error(path, std::generic_category().message(errno));
    }
    state.reset(new StateFolder(std::move(path), /*temporary=*/true));
  } else {
    // The state is nobody else's business.
    const bool made = fs::create_directories(folder, failed);
    if (!failed && made) {
      fs::permissions(folder, fs::perms::owner_all, failed);
    }
    if (failed) return error(folder, failed.message());
    state.reset(new StateFolder(folder, /*temporary=*/false));
  }

  const std::string lock = state->folder_ + "/lock";
  state->lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (state->lock_ < 0) {
    return error(lock, std::generic_category().message(errno));
  }
  if (::flock(state->lock_, LOCK_EX | LOCK_NB) != 0) {
    const std::string reason =
        errno == EWOULDBLOCK
            ? "another scheduler has it; stop that one, or give this one a "
              "folder of its own"
            : std::generic_category().message(errno);
    ::close(std::exchange(state->lock_, -1));
    return error(state->folder_, reason);
  }
  fs::remove_all(state->spool(), failed);
  if (!failed) fs::create_directories(state->spool(), failed);
  if (!failed && !state->jobs().empty()) {
    fs::create_directories(state->jobs(), failed);
  }
  if (failed) return error(state->folder_, failed.message());
  return state;
}

StateFolder::~StateFolder() {
  if (lock_ < 0 && !temporary_) return;  // Another one's.
  std::error_code ignored;
  fs::remove_all(temporary_ ? folder_ : spool(), ignored);
  if (lock_ >= 0) ::close(lock_);
}

std::string DefaultStateDirectory(const std::string& cluster, uint16_t port,
                                  const std::string& state_home,
                                  const std::string& home) {
  if (port == 0) return "";
  fs::path path;
  // A path that is not absolute is to be ignored, says the XDG specification.
  if (fs::path(state_home).is_absolute()) {
    path = state_home;
  } else if (fs::path(home).is_absolute()) {
    path = fs::path(home) / ".local" / "state";
  } else {
    return "";
  }
  std::string name = cluster;
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.') c = '_';
  }
  return (path / "seraph" / absl::StrCat(name, "-", port)).string();
}

}  // namespace seraph
