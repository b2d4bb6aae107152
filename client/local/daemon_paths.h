// Where the daemons' programs are.
#ifndef SERAPH_CLIENT_LOCAL_DAEMON_PATHS_H_
#define SERAPH_CLIENT_LOCAL_DAEMON_PATHS_H_

#include <string>

#include "absl/status/statusor.h"

namespace seraph {

struct DaemonPaths {
  std::string scheduler;
  std::string server;
  std::string worker;

  friend bool operator==(const DaemonPaths&, const DaemonPaths&) = default;
};

// Looks for each daemon, as an executable file,
//   1. where Bazel puts it: ../scheduler/seraph-scheduler from the folder of
//      `self`, the real path of seraphctl;
//   2. beside seraphctl;
//   3. in the folders of `path`, the environment's PATH.
//
// Errors: NotFound for one that is nowhere, with the places and what to do.
absl::StatusOr<DaemonPaths> FindDaemons(const std::string& self,
                                        const std::string& path);

// The real path of this process's program. Errors: as the system says.
absl::StatusOr<std::string> SelfPath();

}  // namespace seraph

#endif  // SERAPH_CLIENT_LOCAL_DAEMON_PATHS_H_
