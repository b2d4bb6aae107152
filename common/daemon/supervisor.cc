#include "common/daemon/supervisor.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace seraph {

absl::Status NotifySupervisor(const char* socket_name,
                              absl::string_view state) {
  const absl::string_view name = socket_name;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof(address.sun_path)) {
    return absl::UnavailableError(absl::StrCat("not a socket: ", name));
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';

  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const socklen_t length = offsetof(sockaddr_un, sun_path) + name.size();
  const bool sent =
      fd >= 0 && sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                        reinterpret_cast<const sockaddr*>(&address),
                        length) == static_cast<ssize_t>(state.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (sent) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(name, ": ", std::strerror(error)));
}

absl::Status EndWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // It may have ended before that.
  if (getppid() != parent) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", parent, " is not the parent of this one"));
  }
  return absl::OkStatus();
}

void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // If it is forbidden, less must do.
}

}  // namespace seraph
