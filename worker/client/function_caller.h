// Calls functions that run at the servers.
#ifndef SERAPH_WORKER_CLIENT_FUNCTION_CALLER_H_
#define SERAPH_WORKER_CLIENT_FUNCTION_CALLER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/functions/function_call.h"
#include "common/functions/function_result.h"
#include "proto/parameters.pb.h"
#include "worker/client/function_peers.h"

namespace seraph {

struct FunctionCallerOptions {
  absl::Duration patience = absl::Seconds(30);  // Of a call, for all its tries.
  absl::Duration retry_backoff = absl::Milliseconds(20);
  absl::Duration retry_backoff_max = absl::Seconds(2);
  // Random, not 0: names the session of functions that write, and the jitter.
  uint64_t seed = 1;
};

// Asks all partitions of a table and brings their answers together, so that the
// result does not depend on how the table is cut. What is lost, refused for a
// passing reason, or for a partition that has moved, is asked again by the
// newest placements; a job that went back meanwhile is asked from the start.
//
// A call whose server was lost while it may have run there is repeated once:
// if that server is lost, too, the function may be the reason, and the call
// ends with Aborted, naming it.
//
// Errors of both: NotFound (no such table, no such function), InvalidArgument,
// FailedPrecondition, Internal (the function's own, a partition that cannot go
// on), DeadlineExceeded after `patience`; Aborted where somebody else goes on
// in the rank's place; what the peers say.
//
// Threads: one at a time, which waits.
class FunctionCaller {
 public:
  // Of a rank: the rows that its pull at that clock would return.
  struct At {
    uint32_t rank = 0;
    uint32_t attempt = 1;
    Clock clock;
  };

  // `peers` must outlive this.
  FunctionCaller(const FunctionCallerOptions& options, FunctionPeers* peers)
      : options_(options), peers_(*peers), session_(options.seed) {}

  // A function that reads. `table` may be "" where the job has one only.
  // Without `at`: the last applied state of each
  // partition, which is one moment in each, but not in all of them.
  absl::StatusOr<FunctionResult> Read(
      const std::string& table, const FunctionCall& call,
      const std::optional<At>& at = std::nullopt);

  // A function that writes, once in each partition (ssp, asp). After an error
  // some partitions may have it, and others not.
  absl::Status Write(const std::string& table, const FunctionCall& call);

 private:
  struct Attempt;

  absl::StatusOr<FunctionResult> Call(const std::string& table,
                                      const v1::CallRequest& request);
  absl::Status Ask(Attempt* attempt);
  absl::Status Take(const ServerCall& call,
                    const absl::StatusOr<v1::CallReply>& reply,
                    Attempt* attempt);

  const FunctionCallerOptions options_;
  FunctionPeers& peers_;
  uint64_t session_;
  uint64_t written_ = 0;  // Number of the session's last call.
  uint64_t last_number_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_FUNCTION_CALLER_H_
