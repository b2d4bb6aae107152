#include "common/rpc/channel.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/callback_threads.h"
#include "common/rpc/transport_arguments.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace seraph {
namespace {

// Also the time that one attempt to connect may take, so that less than a
// second would fail on a busy machine.
constexpr absl::Duration kMinReconnectPause = absl::Seconds(1);

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options) {
  KeepCallbackThreads();
  grpc::ChannelArguments arguments;
  for (const auto& [name, value] :
       TransportArguments(options.max_message_bytes)) {
    arguments.SetInt(name, value);
  }
  // Peers are named by configuration and registration: no proxy, no service
  // configuration from DNS, no connection shared with other channels.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);

  const absl::Duration pause = options.max_reconnect_pause;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   absl::ToInt64Milliseconds(pause / 10));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   absl::ToInt64Milliseconds(kMinReconnectPause));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   absl::ToInt64Milliseconds(pause));

  const std::string target = absl::StartsWith(address, "unix:") ||
                                     absl::StartsWith(address, "unix-abstract:")
                                 ? address
                                 : absl::StrCat("dns:///", address);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(),
                                   arguments);
}

void ReconnectNow(grpc::Channel* channel) {
  grpc::experimental::ChannelResetConnectionBackoff(channel);
}

ChannelCache::ChannelCache(ChannelOptions options) : options_(options) {}

std::shared_ptr<grpc::Channel> ChannelCache::Get(const std::string& address) {
  MutexLock lock(&mu_);
  std::shared_ptr<grpc::Channel>& channel = channels_[address];
  if (channel == nullptr) channel = MakeChannel(address, options_);
  return channel;
}

void ChannelCache::Forget(const std::string& address) {
  std::shared_ptr<grpc::Channel> forgotten;  // Freed without the lock.
  MutexLock lock(&mu_);
  const auto found = channels_.find(address);
  if (found == channels_.end()) return;
  forgotten = std::move(found->second);
  channels_.erase(found);
}

}  // namespace seraph
