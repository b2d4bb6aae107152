// The streams of a worker process, one to each start of a server.
#ifndef SERAPH_WORKER_SERVICE_LINK_CACHE_H_
#define SERAPH_WORKER_SERVICE_LINK_CACHE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/cluster/nearest_address.h"
#include "common/cluster/node.h"
#include "common/concurrent/mutex.h"
#include "worker/client/server_link.h"

namespace seraph {

// Threads: every method may be called from any thread.
class LinkCache {
 public:
  struct Options {
    Neighbourhood here;
    uint64_t incarnation = 0;  // Ours.
    uint64_t max_message_bytes = uint64_t{64} << 20;
    uint64_t window_bytes = uint64_t{64} << 20;  // send_window.h
  };

  explicit LinkCache(const Options& options) : options_(options) {}

  // The link to this start of the server, shared by all jobs while one of them
  // holds it. Another start has another connection: that to the one before may
  // hang for as long as nobody tells us that its machine is gone.
  std::shared_ptr<ServerLink> Get(const Node& server) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<std::string, uint64_t>;  // Address and incarnation.

  const Options options_;

  Mutex mu_;
  std::map<Key, std::weak_ptr<ServerLink>> links_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_WORKER_SERVICE_LINK_CACHE_H_
