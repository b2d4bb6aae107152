#include "common/rpc/local_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

constexpr absl::string_view kScheme = "unix-abstract:";

std::string NameOf(uint64_t incarnation) {
  return absl::StrCat("seraph-", absl::Hex(incarnation, absl::kZeroPad16));
}

struct Address {
  explicit Address(uint64_t incarnation) {
    const std::string name = NameOf(incarnation);
    unix.sun_family = AF_UNIX;
    // The first byte is 0: the name is no path.
    std::memcpy(unix.sun_path + 1, name.data(), name.size());
    length = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  }

  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&unix);
  }

  sockaddr_un unix = {};
  socklen_t length;
};

}  // namespace

std::string LocalSocketAddress(uint64_t incarnation) {
  return absl::StrCat(kScheme, NameOf(incarnation));
}

bool IsLocalSocketAddress(absl::string_view address) {
  return absl::StartsWith(address, kScheme);
}

absl::StatusOr<UniqueFd> ListenOnLocalSocket(uint64_t incarnation) {
  const Address address(incarnation);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.ok() && bind(fd.get(), address.get(), address.length) == 0 &&
      listen(fd.get(), SOMAXCONN) == 0) {
    return fd;
  }
  const int error = errno;
  return absl::Status(
      error == EADDRINUSE ? absl::StatusCode::kAlreadyExists
                          : absl::StatusCode::kUnavailable,
      absl::StrCat("cannot listen on the local socket ", NameOf(incarnation),
                   ": ", std::strerror(error)));
}

bool LocalSocketAnswers(uint64_t incarnation) {
  const Address address(incarnation);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.ok()) return false;
  // A full queue says that there is one.
  return connect(fd.get(), address.get(), address.length) == 0 ||
         errno == EAGAIN;
}

}  // namespace seraph
