// Addresses as people write them and daemons tell them.
//
// "host:port", with an IPv6 host in brackets: "10.0.0.1:7401", "[::1]:7401",
// "server-0.seraph:7401"; or "unix:/path/of/a/socket".
#ifndef SERAPH_COMMON_RPC_ADDRESS_H_
#define SERAPH_COMMON_RPC_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace seraph {

struct HostPort {
  std::string host;  // Without brackets; not empty.
  uint16_t port = 0;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Whether `address` names a unix socket; then *path is what follows "unix:".
bool ParseUnixAddress(absl::string_view address, std::string* path);

// Errors: InvalidArgument, which quotes the address and says what is wrong:
// no port, a port above 65535, no host, an IPv6 host without brackets.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view address);

// Brackets an IPv6 host.
std::string FormatHostPort(const HostPort& address);

// What a daemon tells its peers to dial. `advertise` is its configuration,
// `bound` where it listens. An empty `advertise` means `bound`, with the name
// of this machine in place of a wildcard host (0.0.0.0, ::), which nobody can
// dial. An `advertise` without a port, or with port 0, takes the bound port.
//
// Errors: InvalidArgument for an `advertise` that is no address.
absl::StatusOr<std::string> AdvertisedAddress(absl::string_view advertise,
                                              absl::string_view bound,
                                              absl::string_view machine);

// The name of this machine.
std::string MachineName();

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_ADDRESS_H_
