// Whom a caller of functions talks to.
#ifndef SERAPH_WORKER_CLIENT_FUNCTION_PEERS_H_
#define SERAPH_WORKER_CLIENT_FUNCTION_PEERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/cluster/node.h"
#include "proto/parameters.pb.h"
#include "worker/client/table_router.h"

namespace seraph {

// A job's tables and where they are served, at one moment.
struct FunctionTables {
  std::string job;
  uint64_t generation = 0;
  std::shared_ptr<const TableRouter> router;  // Never null.
};

struct ServerCall {
  Node server;
  v1::CallRequest request;
};

// Threads: as the caller's.
class FunctionPeers {
 public:
  virtual ~FunctionPeers() = default;

  // As they are now. Errors: end the call, unless they may pass
  // (worker/client/refusal.h).
  virtual absl::StatusOr<FunctionTables> FindTables() = 0;

  // Makes the calls side by side, and waits for all of them, at most for
  // `timeout`. One answer for each, in order; Unavailable where the connection
  // broke.
  virtual std::vector<absl::StatusOr<v1::CallReply>> CallAll(
      std::vector<ServerCall> calls, absl::Duration timeout) = 0;

  // Waits. Errors: Cancelled, to end the call.
  virtual absl::Status Pause(absl::Duration time) = 0;

  // Monotonic.
  virtual absl::Duration Now() const = 0;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_FUNCTION_PEERS_H_
