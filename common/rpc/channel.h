// Client channels, all with the arguments that fit our servers.
#ifndef SERAPH_COMMON_RPC_CHANNEL_H_
#define SERAPH_COMMON_RPC_CHANNEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"
#include "grpcpp/channel.h"

namespace seraph {

struct ChannelOptions {
  // The largest message in either direction, the same as the server's.
  uint64_t max_message_bytes = uint64_t{64} << 20;

  // The longest pause between attempts to connect; an attempt itself takes at
  // most one second. The first pause is a tenth of it.
  absl::Duration max_reconnect_pause = absl::Seconds(2);
};

// A new channel with a connection of its own; it connects at the first call.
// `address` as in common/rpc/address.h, or that of a local socket
// (common/rpc/local_socket.h). An address that is none gives a channel
// whose calls fail with Unavailable. Proxies named by the environment are not
// used.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options);

// Ends a pause between attempts to connect. gRPC counts the pause by the wall
// clock: after that was set back, a channel may stay unconnected for as long,
// unless somebody whose own clock is monotonic calls this. Cheap and harmless
// at any time.
void ReconnectNow(grpc::Channel* channel);

// One channel per address.
//
// Threads: every method may be called from any thread.
class ChannelCache {
 public:
  explicit ChannelCache(ChannelOptions options);

  // The same channel for the same address, until it is forgotten.
  std::shared_ptr<grpc::Channel> Get(const std::string& address)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Lets the channel of a node that is gone go; calls on it end as they would.
  void Forget(const std::string& address) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const ChannelOptions options_;

  Mutex mu_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_CHANNEL_H_
