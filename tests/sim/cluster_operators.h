// The people of a simulated cluster.
#ifndef SERAPH_TESTS_SIM_CLUSTER_OPERATORS_H_
#define SERAPH_TESTS_SIM_CLUSTER_OPERATORS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "scheduler/core/scheduler_core.h"
#include "tests/sim/cluster_world.h"

namespace seraph::testing {

// What they do, at times that the seed draws.
struct OperatorPlan {
  absl::Duration from;
  absl::Duration until;
  int checkpoints = 0;
  int pauses = 0;  // A resume follows.
  int drains = 0;  // Of a server or a worker.
  int cancels = 0;
  int power_cuts = 0;  // All machines at once.
};

// They ask until they are answered, and see that no job stays paused.
class ClusterOperators {
 public:
  struct Hooks {
    std::function<void(int machine)> crash;
    std::function<void(int machine)> start;
  };

  ClusterOperators(ClusterWorld* world, Hooks hooks)
      : world_(*world), hooks_(std::move(hooks)) {}

  void Plan(const OperatorPlan& plan);

  // The job may end as cancelled.
  bool cancelled() const { return cancelled_; }

 private:
  void Checkpoint();
  void Pause();
  void Resume();
  void Cancel();
  void Drain();
  void CutPower();
  // Resumes what was paused and forgotten.
  void Watch();

  // The job; null: it is not known at the moment, or there is none.
  const JobView* Job() const;
  void Ask(const char* what, absl::Duration timeout,
           std::function<void(SimScheduler*, SimNetwork::Answer<int>)> serve,
           std::function<void(const absl::Status&)> done);

  ClusterWorld& world_;
  const Hooks hooks_;
  bool cancelled_ = false;
  int pausing_ = 0;
  bool resuming_ = false;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_CLUSTER_OPERATORS_H_
