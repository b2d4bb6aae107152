#include "client/local/daemon_paths.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

bool IsProgram(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

absl::StatusOr<std::string> FindDaemon(const std::string& role,
                                       const std::string& self,
                                       const std::string& path) {
  const std::string name = absl::StrCat("seraph-", role);
  const fs::path folder = fs::path(self).parent_path();
  const std::vector<fs::path> near = {folder.parent_path() / role / name,
                                      folder / name};
  for (const fs::path& candidate : near) {
    if (IsProgram(candidate)) return candidate.string();
  }
  for (const absl::string_view one : absl::StrSplit(path, ':')) {
    const fs::path candidate = fs::path(std::string(one)) / name;
    if (!one.empty() && IsProgram(candidate)) return candidate.string();
  }
  return absl::NotFoundError(absl::StrCat(
      "cannot find the program ", name, ": it is neither ", near[0].string(),
      " nor ", near[1].string(), ", nor on the PATH; build it (bazel build //",
      role, ":", name, ") or install it beside seraphctl"));
}

}  // namespace

absl::StatusOr<DaemonPaths> FindDaemons(const std::string& self,
                                        const std::string& path) {
  DaemonPaths paths;
  SERAPH_ASSIGN_OR_RETURN(paths.scheduler, FindDaemon("scheduler", self, path));
  SERAPH_ASSIGN_OR_RETURN(paths.server, FindDaemon("server", self, path));
  SERAPH_ASSIGN_OR_RETURN(paths.worker, FindDaemon("worker", self, path));
  return paths;
}

absl::StatusOr<std::string> SelfPath() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               "cannot find where this program is");
  }
  return path.string();
}

}  // namespace seraph
