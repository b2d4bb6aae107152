#include "scheduler/io/state_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
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
    state.reset(new StateFolder(folder, /*temporary=*/false));
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
  std::error_code ignored;
  fs::remove_all(temporary_ ? folder_ : spool(), ignored);
}

}  // namespace seraph
