// A lease of etcd's that is kept up.
#ifndef SERAPH_SCHEDULER_STORE_ETCD_LEASE_H_
#define SERAPH_SCHEDULER_STORE_ETCD_LEASE_H_

#include <cstdint>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"
#include "common/time/clock.h"
#include "scheduler/store/etcd_client.h"

namespace seraph {

// By our own monotonic clock it ends a tenth before etcd can end it: it counts
// from when the last renewal that was answered was sent. Once ended it never
// holds again, whatever etcd thinks.
//
// Threads: holds() may be called from any thread.
class EtcdLease {
 public:
  // Asks for a lease of `length`, in whole seconds; etcd may make it longer.
  // `client` and `clock` must outlive it. Errors: as EtcdClient.
  static absl::StatusOr<std::unique_ptr<EtcdLease>> Grant(
      EtcdClient* client, const MonotonicClock* clock, absl::Duration length);

  // Gives it back, if etcd answers soon.
  ~EtcdLease();

  int64_t id() const { return id_; }
  bool holds() const ABSL_LOCKS_EXCLUDED(mu_);

  // Begins to renew it, three times in its length. At most once.
  void KeepUp();

 private:
  EtcdLease(EtcdClient* client, const MonotonicClock* clock, int64_t id,
            absl::Duration length, absl::Duration sent);
  void Run() ABSL_LOCKS_EXCLUDED(mu_);

  EtcdClient* const client_;
  const MonotonicClock* const clock_;
  const int64_t id_;
  const absl::Duration length_;

  mutable Mutex mu_;
  CondVar changed_;
  absl::Duration end_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  std::thread thread_;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_STORE_ETCD_LEASE_H_
