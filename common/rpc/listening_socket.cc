#include "common/rpc/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config/address.h"
#include "common/rpc/address.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// What the messages say of an address.
struct Where {
  std::string address;
  std::string config_key;

  absl::Status Error(absl::StatusCode code, absl::string_view why) const {
    return absl::Status(code, absl::StrCat("cannot listen on ", address, " (",
                                           config_key, "): ", why));
  }

  absl::Status SystemError(int error) const {
    absl::StatusCode code = absl::StatusCode::kUnavailable;
    if (error == EADDRINUSE) code = absl::StatusCode::kAlreadyExists;
    if (error == EACCES || error == EPERM) {
      code = absl::StatusCode::kPermissionDenied;
    }
    return Error(code, std::strerror(error));
  }
};

absl::Status Resolve(const std::string& host, const Where& where,
                     std::vector<SocketAddress>* result) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list)) {
    return where.Error(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("host '", host, "': ", gai_strerror(error)));
  }
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    SocketAddress& address = result->emplace_back();
    address.length = one->ai_addrlen;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
  }
  freeaddrinfo(list);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SocketAddress>> AddressesOf(const std::string& host,
                                                       const Where& where) {
  std::vector<SocketAddress> result;
  if (host == "localhost") {
    // Both, whatever the hosts file says: gRPC's resolver gives both to the
    // clients, and a stranger may have our port at the other one.
    SERAPH_RETURN_IF_ERROR(Resolve("127.0.0.1", where, &result));
    SERAPH_RETURN_IF_ERROR(Resolve("::1", where, &result));
  } else {
    SERAPH_RETURN_IF_ERROR(Resolve(host, where, &result));
  }
  return result;
}

void SetPort(sockaddr* address, uint16_t port) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
  }
}

uint16_t BoundPort(int fd) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  return ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

// Returns 0 or errno.
int Listen(const sockaddr* address, socklen_t length, UniqueFd* result) {
  UniqueFd fd(socket(address->sa_family,
                     SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.ok()) return errno;
  const int on = 1;
  if (address->sa_family != AF_UNIX) {
    // A restarted daemon takes its port again while old connections linger.
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    // Inherited by the connections.
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  if (address->sa_family == AF_INET6) {
    // [::] takes IPv4 too, whatever the machine's default is.
    const int off = 0;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (bind(fd.get(), address, length) != 0) return errno;
  if (listen(fd.get(), SOMAXCONN) != 0) return errno;
  *result = std::move(fd);
  return 0;
}

// Listens on all of `addresses` with one port, `*port`, or one that is free if
// that is 0. Returns 0 or errno.
//
// A name may stand for a family that this machine does not have, so that one
// address is enough; but a port that is taken for one of them is taken.
int ListenTcp(std::vector<SocketAddress>& addresses, uint16_t* port,
              std::vector<UniqueFd>* result) {
  result->clear();
  int first_error = 0;
  uint16_t common_port = *port;
  for (SocketAddress& address : addresses) {
    SetPort(address.get(), common_port);
    UniqueFd fd;
    if (const int error = Listen(address.get(), address.length, &fd)) {
      if (error == EADDRINUSE) return error;
      if (first_error == 0) first_error = error;
      continue;
    }
    common_port = BoundPort(fd.get());
    result->push_back(std::move(fd));
  }
  if (result->empty()) return first_error;
  *port = common_port;
  return 0;
}

bool SomebodyListens(const sockaddr_un& address) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd.ok() &&
         connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)) == 0;
}

absl::Status ListenUnix(const std::string& path, const Where& where,
                        UniqueFd* result) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return where.Error(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("a socket's path has 1 to ",
                                    sizeof(address.sun_path) - 1, " bytes"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());

  struct stat found = {};
  if (stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode) &&
      !SomebodyListens(address)) {
    unlink(path.c_str());  // Left behind by a process that was killed.
  }
  const int error = Listen(reinterpret_cast<const sockaddr*>(&address),
                           sizeof(address), result);
  return error == 0 ? absl::OkStatus() : where.SystemError(error);
}

}  // namespace

absl::StatusOr<ListeningSocket> ListeningSocket::Bind(
    const std::string& address, const std::string& config_key) {
  const Where where = {address, config_key};
  ListeningSocket result;

  std::string path;
  if (ParseUnixAddress(address, &path)) {
    UniqueFd fd;
    SERAPH_RETURN_IF_ERROR(ListenUnix(path, where, &fd));
    result.descriptors_.push_back(std::move(fd));
    result.unix_path_ = path;
    result.address_ = address;
    return result;
  }

  absl::StatusOr<Address> parsed = ParseAddress(address);
  if (!parsed.ok()) {
    return where.Error(absl::StatusCode::kInvalidArgument,
                       parsed.status().message());
  }
  SERAPH_ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses,
                          AddressesOf(parsed->host, where));
  // The port that was free for one address may be taken for the next.
  int attempts = parsed->port == 0 ? 10 : 1;
  int error = EADDRINUSE;
  while (error == EADDRINUSE && attempts-- > 0) {
    error = ListenTcp(addresses, &parsed->port, &result.descriptors_);
  }
  if (error != 0) return where.SystemError(error);
  result.address_ = ToString(*parsed);
  return result;
}

ListeningSocket::~ListeningSocket() {
  if (!descriptors_.empty() && !unix_path_.empty()) {
    unlink(unix_path_.c_str());
  }
}

}  // namespace seraph
