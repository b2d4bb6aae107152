// Addresses that daemons listen on, tell their peers, and dial.
//
// host:port as common/config/address.h reads it, or "unix:/path/of/a/socket".
#ifndef SERAPH_COMMON_RPC_ADDRESS_H_
#define SERAPH_COMMON_RPC_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace seraph {

// Whether `address` names a unix socket; then *path is what follows "unix:".
bool ParseUnixAddress(absl::string_view address, std::string* path);

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
