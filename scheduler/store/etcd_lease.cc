#include "scheduler/store/etcd_lease.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/concurrent/thread_name.h"
#include "common/log/log.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(100);

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdLease>> EtcdLease::Grant(
    EtcdClient* client, const MonotonicClock* clock, absl::Duration length) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(absl::ToInt64Seconds(
      absl::Ceil(std::max(length, absl::Seconds(1)), absl::Seconds(1))));
  const absl::Duration sent = clock->Now();
  SERAPH_ASSIGN_OR_RETURN(const etcdserverpb::LeaseGrantResponse granted,
                          client->Grant(request));
  if (!granted.error().empty() || granted.ttl() <= 0) {
    return absl::InternalError(
        absl::StrCat("etcd grants no lease: ", granted.error()));
  }
  return std::unique_ptr<EtcdLease>(new EtcdLease(
      client, clock, granted.id(), absl::Seconds(granted.ttl()), sent));
}

EtcdLease::EtcdLease(EtcdClient* client, const MonotonicClock* clock,
                     int64_t id, absl::Duration length, absl::Duration sent)
    : client_(client),
      clock_(clock),
      id_(id),
      length_(length),
      end_(sent + 0.9 * length) {}

EtcdLease::~EtcdLease() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(id_);
  // It ends by itself if this does not come through.
  (void)client_->Revoke(request);
}

bool EtcdLease::holds() const {
  MutexLock lock(&mu_);
  return clock_->Now() < end_;
}

void EtcdLease::KeepUp() {
  thread_ = std::thread([this] { Run(); });
}

void EtcdLease::Run() {
  NameThisThread("etcd-lease");
  absl::Duration due = clock_->Now();
  bool warned = false;
  while (true) {
    {
      MutexLock lock(&mu_);
      while (!stopping_ && clock_->Now() < due) {
        changed_.WaitFor(&mu_, due - clock_->Now());
      }
      if (stopping_ || clock_->Now() >= end_) return;
    }
    etcdserverpb::LeaseKeepAliveRequest request;
    request.set_id(id_);
    const absl::Duration sent = clock_->Now();
    const auto renewed = client_->KeepAlive(request);
    if (renewed.ok()) {
      due = sent + length_ / 3;
      warned = false;
      MutexLock lock(&mu_);
      // A renewal that was answered too late is none.
      if (clock_->Now() >= end_) return;
      end_ = std::max(end_, sent + 0.9 * absl::Seconds(renewed->ttl()));
      continue;
    }
    if (absl::IsNotFound(renewed.status())) {
      spdlog::warn("etcd.lease_lost status={}", LogValue(renewed.status()));
      MutexLock lock(&mu_);
      end_ = -absl::InfiniteDuration();
      return;
    }
    if (!std::exchange(warned, true)) {
      spdlog::warn("etcd.lease_not_renewed status={} next=retry",
                   LogValue(renewed.status()));
    }
    due = clock_->Now() + kRetryPause;
  }
}

}  // namespace seraph
