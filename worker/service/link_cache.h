// The streams of a worker process, one to each server.
#ifndef SERAPH_WORKER_SERVICE_LINK_CACHE_H_
#define SERAPH_WORKER_SERVICE_LINK_CACHE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/channel.h"
#include "worker/client/server_link.h"

namespace seraph {

// Threads: every method may be called from any thread.
class LinkCache {
 public:
  // `channels` must outlive this.
  explicit LinkCache(ChannelCache* channels) : channels_(*channels) {}

  // The link to the server at `address`, shared by all jobs while one of them
  // holds it.
  std::shared_ptr<ServerLink> Get(const std::string& address)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  ChannelCache& channels_;

  Mutex mu_;
  std::map<std::string, std::weak_ptr<ServerLink>> links_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_WORKER_SERVICE_LINK_CACHE_H_
