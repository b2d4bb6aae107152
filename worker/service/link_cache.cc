#include "worker/service/link_cache.h"

#include <optional>

#include "common/rpc/channel.h"

namespace seraph {

std::shared_ptr<ServerLink> LinkCache::Get(const Node& server) {
  MutexLock lock(&mu_);
  std::weak_ptr<ServerLink>& known =
      links_[{server.address, server.incarnation}];
  std::shared_ptr<ServerLink> link = known.lock();
  if (link == nullptr) {
    const std::string address = NearestAddress(server, options_.here);
    std::optional<ServerLink::SharedEnds> share;
    if (MayShareMemory(address, options_.here)) {
      share = {.ours = options_.incarnation, .server = server.incarnation};
    }
    link = std::make_shared<ServerLink>(
        MakeChannel(address, {.max_message_bytes = options_.max_message_bytes}),
        options_.window_bytes, share);
    known = link;
    std::erase_if(links_, [](const auto& one) { return one.second.expired(); });
  }
  return link;
}

}  // namespace seraph
