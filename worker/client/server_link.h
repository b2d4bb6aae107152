// A worker process's end of the Exchange stream to one server.
#ifndef SERAPH_WORKER_CLIENT_SERVER_LINK_H_
#define SERAPH_WORKER_CLIENT_SERVER_LINK_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "common/concurrent/mutex.h"
#include "proto/parameters.grpc.pb.h"

namespace seraph {

// All ranks of the process share it. The stream is opened by the first request
// and, after it broke, by the next one; what was out then ends with
// Unavailable, and its sender sends it again. The stream itself has no
// deadline: keepalive pings find a peer that is gone.
//
// Threads: every method may be called from any thread. Callbacks run on gRPC's
// threads, which they must not block, with no lock held.
class ServerLink {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<v1::ExchangeReply>)>;

  explicit ServerLink(std::shared_ptr<grpc::Channel> channel);

  // Ends the stream; what is out ends with Unavailable before this returns.
  ~ServerLink();

  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  // Sends a request under a number of the stream's own. `done` is called
  // exactly once.
  void Send(std::shared_ptr<const v1::ExchangeRequest> request, Done done);

 private:
  class Stream;

  const std::unique_ptr<v1::Parameters::Stub> stub_;

  Mutex mu_;
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_SERVER_LINK_H_
