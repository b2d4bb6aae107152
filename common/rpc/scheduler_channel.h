// The way to the scheduler, where there may be several.
#ifndef SERAPH_COMMON_RPC_SCHEDULER_CHANNEL_H_
#define SERAPH_COMMON_RPC_SCHEDULER_CHANNEL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/channel.h"
#include "grpcpp/channel.h"

namespace seraph {

// Of several schedulers one leads; the others answer every call with
// Unavailable, reason NOT_LEADER, and the value "leader" where they know it:
//
//   const SchedulerChannel::Target target = scheduler->Get();
//   auto stub = v1::Cluster::NewStub(target.channel);
//   ... a call ends with `status` ...
//   const bool at_once = scheduler->Report(target, status);
//   if (IsTransient(status)) ... repeat it, after a pause unless `at_once` ...
//
// Threads: every method may be called from any thread.
class SchedulerChannel {
 public:
  // `addresses`: "host:port[,host:port...]"; the first is tried first. Connects
  // at the first call.
  explicit SchedulerChannel(absl::string_view addresses,
                            const ChannelOptions& options = {});

  struct Target {
    std::shared_ptr<grpc::Channel> channel;
    std::string address;
  };

  // Where to call now.
  Target Get() const ABSL_LOCKS_EXCLUDED(mu_);

  // How many addresses there are.
  size_t size() const { return known_.size(); }

  // How a call to a target ended. Unavailable and DeadlineExceeded move all
  // later calls on to the leader that was named, if it is one of the addresses,
  // or else to the next address, unless somebody has moved on since. Returns
  // whether the call may be repeated without a pause: not every address has
  // been tried since the last call that was answered.
  bool Report(const Target& target, const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  std::vector<Target> known_;  // Constant.

  mutable Mutex mu_;
  size_t current_ ABSL_GUARDED_BY(mu_) = 0;
  size_t moves_ ABSL_GUARDED_BY(mu_) = 0;  // Since the last answer.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_SCHEDULER_CHANNEL_H_
