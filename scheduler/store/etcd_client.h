// Calls to an etcd cluster.
#ifndef SERAPH_SCHEDULER_STORE_ETCD_CLIENT_H_
#define SERAPH_SCHEDULER_STORE_ETCD_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "scheduler/store/etcd.grpc.pb.h"

namespace seraph {

// Each call is tried at one member after the other, beginning with the one that
// answered last, once each; it blocks, and needs no thread of gRPC. Errors that
// may go away are Unavailable, whatever kind they are of: then the call may
// have had its effect all the same.
//
// Threads: every method may be called from any thread.
class EtcdClient {
 public:
  // `endpoints` is not empty. An attempt takes at most `timeout`.
  EtcdClient(const std::vector<std::string>& endpoints, absl::Duration timeout);

  absl::StatusOr<etcdserverpb::RangeResponse> Range(
      const etcdserverpb::RangeRequest& request);
  absl::StatusOr<etcdserverpb::TxnResponse> Txn(
      const etcdserverpb::TxnRequest& request);
  absl::StatusOr<etcdserverpb::CompactionResponse> Compact(
      const etcdserverpb::CompactionRequest& request);
  absl::StatusOr<etcdserverpb::LeaseGrantResponse> Grant(
      const etcdserverpb::LeaseGrantRequest& request);
  absl::StatusOr<etcdserverpb::LeaseRevokeResponse> Revoke(
      const etcdserverpb::LeaseRevokeRequest& request);
  // NotFound: there is no such lease any more.
  absl::StatusOr<etcdserverpb::LeaseKeepAliveResponse> KeepAlive(
      const etcdserverpb::LeaseKeepAliveRequest& request);

 private:
  struct Member {
    std::string address;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<etcdserverpb::KV::Stub> kv;
    std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  };
  using Attempt = std::function<grpc::Status(const Member& member,
                                             grpc::ClientContext* context)>;

  absl::Status Call(const Attempt& attempt) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status CallOne(const Member& member, const Attempt& attempt);

  const absl::Duration timeout_;
  std::vector<Member> members_;

  Mutex mu_;
  size_t current_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_STORE_ETCD_CLIENT_H_
