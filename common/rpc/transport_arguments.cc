#include "common/rpc/transport_arguments.h"

#include <algorithm>
#include <limits>

#include "grpc/impl/codegen/grpc_types.h"

namespace seraph {
namespace {

constexpr int kKiB = 1 << 10;
constexpr int kKeepaliveMs = 10'000;
constexpr int kMinPingMs = 5'000;

}  // namespace

std::vector<std::pair<std::string, int>> TransportArguments(
    uint64_t max_message_bytes, uint64_t window_bytes) {
  const int max_message = static_cast<int>(
      std::min<uint64_t>(max_message_bytes, std::numeric_limits<int>::max()));
  const int window = static_cast<int>(
      std::clamp<uint64_t>(window_bytes, 64 * kKiB, kWindowBytes));
  return {
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, max_message},
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, max_message},
      {GRPC_ARG_HTTP2_MAX_FRAME_SIZE, (16 << 20) - 1},
      {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, window},
      {GRPC_ARG_HTTP2_BDP_PROBE, 0},
      {GRPC_ARG_TCP_READ_CHUNK_SIZE, std::max(64 * kKiB, window / 4)},
      {GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, 64 * kKiB},
      {GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, window},
      {GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingMs},
  };
}

}  // namespace seraph
