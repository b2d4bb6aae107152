// The sockets of one address that a daemon listens on.
#ifndef SERAPH_COMMON_RPC_LISTENING_SOCKET_H_
#define SERAPH_COMMON_RPC_LISTENING_SOCKET_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/rpc/unique_fd.h"

namespace seraph {

// One socket for each address that the host's name stands for ("localhost" may
// be 127.0.0.1 and ::1), all with the same port. Destroyed, it closes them and
// removes the file of a unix socket.
//
// Threads: one at a time.
class ListeningSocket {
 public:
  // Binds and listens. `address` as in common/rpc/address.h; port 0 picks a
  // free one. A unix socket's file that nobody listens on any more is replaced.
  //
  // Errors, each with the address, `config_key` and the system's reason:
  //   InvalidArgument   not an address, or a host that does not resolve
  //   AlreadyExists     the port, or the socket's file, is taken
  //   PermissionDenied  a port or path that this user may not bind
  //   Unavailable       anything else: an address of another machine, say
  static absl::StatusOr<ListeningSocket> Bind(const std::string& address,
                                              const std::string& config_key);

  ListeningSocket(ListeningSocket&& other) = default;
  ListeningSocket& operator=(ListeningSocket&& other) = delete;
  ~ListeningSocket();

  // Takes connections there, too. `fd` listens, and does not block.
  void Add(UniqueFd fd) { descriptors_.push_back(std::move(fd)); }

  // The host, or path, as it was given, with the bound port.
  const std::string& address() const { return address_; }

  // Not blocking; at least one.
  const std::vector<UniqueFd>& descriptors() const { return descriptors_; }

 private:
  ListeningSocket() = default;

  std::string address_;
  std::vector<UniqueFd> descriptors_;  // Empty once moved from.
  std::string unix_path_;              // "": TCP.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_LISTENING_SOCKET_H_
