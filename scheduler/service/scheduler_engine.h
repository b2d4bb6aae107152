// The scheduler's core among threads.
#ifndef SERAPH_SCHEDULER_SERVICE_SCHEDULER_ENGINE_H_
#define SERAPH_SCHEDULER_SERVICE_SCHEDULER_ENGINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/concurrent/mutex.h"
#include "common/time/clock.h"
#include "scheduler/core/scheduler_core.h"

namespace seraph {

// Carries out orders.
class OrderCarrier {
 public:
  virtual ~OrderCarrier() = default;

  // Begins to carry out the order, and returns soon. Whether the order wants a
  // reply, and how to give it: scheduler/job/order.h.
  virtual void Carry(Order order) = 0;
};

// Hands events to the core one at a time, and its orders to the carrier: one at
// a time too, in the order in which the core gave them, and without a lock, so
// that the carrier may come back with an event at once.
//
// Threads: every method may be called from any thread, but SetCarrier comes
// first.
class SchedulerEngine {
 public:
  // The clocks must outlive this.
  SchedulerEngine(const SchedulerOptions& options, const MonotonicClock* clock,
                  const WallClock* wall);

  // `carrier` must outlive every call of Handle.
  void SetCarrier(OrderCarrier* carrier) { carrier_ = carrier; }

  struct Answer {
    absl::Status status;
    std::string job;  // JobSubmitted: its id.
  };

  Answer Handle(const Event& event) ABSL_LOCKS_EXCLUDED(mu_);

  // What people see.
  std::optional<JobView> Job(absl::string_view id) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // The job, if its version is not `known`; 0 is never known.
  struct Look {
    bool exists = false;
    std::optional<JobView> changed;
  };
  Look LookAt(absl::string_view id, uint64_t known) const
      ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<JobView> Jobs() const ABSL_LOCKS_EXCLUDED(mu_);

  size_t CountJobs(JobState state) const ABSL_LOCKS_EXCLUDED(mu_);

  struct NodeView {
    NodeRecord record;
    absl::Duration silent_for;
  };
  std::vector<NodeView> Nodes() const ABSL_LOCKS_EXCLUDED(mu_);

  bool IsAllFreed() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Carries out what is queued, unless another thread does.
  void CarryQueued() ABSL_LOCKS_EXCLUDED(mu_);

  const MonotonicClock* const clock_;
  const WallClock* const wall_;
  OrderCarrier* carrier_ = nullptr;

  mutable Mutex mu_;
  SchedulerCore core_ ABSL_GUARDED_BY(mu_);
  Orders queue_ ABSL_GUARDED_BY(mu_);
  bool carrying_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_SCHEDULER_ENGINE_H_
