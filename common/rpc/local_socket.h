// How processes of one machine find each other without a network.
#ifndef SERAPH_COMMON_RPC_LOCAL_SOCKET_H_
#define SERAPH_COMMON_RPC_LOCAL_SOCKET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/rpc/unique_fd.h"

namespace seraph {

// A unix socket in Linux's abstract namespace: a name without a file, which is
// gone with the process that listens. It is seen inside one network namespace
// only. The name holds the incarnation, so that nobody reaches another start of
// a node by it.
//
// Below, "address" is what MakeChannel takes: "unix-abstract:seraph-...".
std::string LocalSocketAddress(uint64_t incarnation);
bool IsLocalSocketAddress(absl::string_view address);

// Listens, not blocking. Errors: AlreadyExists, Unavailable, with the name.
absl::StatusOr<UniqueFd> ListenOnLocalSocket(uint64_t incarnation);

// Whether somebody listens there, seen from here.
bool LocalSocketAnswers(uint64_t incarnation);

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_LOCAL_SOCKET_H_
