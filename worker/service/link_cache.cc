#include "worker/service/link_cache.h"

namespace seraph {

std::shared_ptr<ServerLink> LinkCache::Get(const std::string& address) {
  const std::shared_ptr<grpc::Channel> channel = channels_.Get(address);
  MutexLock lock(&mu_);
  std::weak_ptr<ServerLink>& known = links_[address];
  std::shared_ptr<ServerLink> link = known.lock();
  if (link == nullptr) {
    link = std::make_shared<ServerLink>(channel);
    known = link;
  }
  return link;
}

}  // namespace seraph
