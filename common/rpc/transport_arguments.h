// The gRPC arguments that both ends of a connection have in common.
#ifndef SERAPH_COMMON_RPC_TRANSPORT_ARGUMENTS_H_
#define SERAPH_COMMON_RPC_TRANSPORT_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace seraph {

// With which local streams are as fast as with any larger one.
inline constexpr uint64_t kWindowBytes = uint64_t{4} << 20;

// Name and value of each.
//
// Sizes: messages up to `max_message_bytes` (>= 1, cut to int32) either way;
// frames and read chunks that let megabytes through in few steps. Of what no
// one has read yet a stream has at most `window_bytes` at its receiver, beside
// a message that it reads, and a connection at most as much for what it is
// about to read; gRPC's own estimate, which knows no bound, is off. Keepalive:
// a silent peer is found after 10 s and given up 10 s later, also without a
// call; the other end allows pings of at least 5 s distance.
std::vector<std::pair<std::string, int>> TransportArguments(
    uint64_t max_message_bytes, uint64_t window_bytes = kWindowBytes);

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_TRANSPORT_ARGUMENTS_H_
