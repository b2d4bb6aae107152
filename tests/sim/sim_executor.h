// The threads of a simulated machine.
#ifndef SERAPH_TESTS_SIM_SIM_EXECUTOR_H_
#define SERAPH_TESTS_SIM_SIM_EXECUTOR_H_

#include <deque>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "common/concurrent/executor.h"
#include "tests/sim/sim_loop.h"

namespace seraph::testing {

// Work runs a little later, as events of the machine's present life, in the
// order in which it was scheduled.
class SimExecutor final : public Executor {
 public:
  SimExecutor(SimLoop* loop, int machine)
      : loop_(*loop), machine_(machine), life_(loop->life(machine)) {}

  void Schedule(absl::AnyInvocable<void()> work) override {
    queue_.push_back(std::move(work));
    if (closed_) return RunAll();
    loop_.AfterIn(loop_.Between(absl::ZeroDuration(), absl::Microseconds(50)),
                  machine_, life_, "work", [this] { RunOne(); });
  }

  // The machine is down, or the simulation at its end: what frees its memory
  // by work runs now, and from now on at once.
  void Close() {
    closed_ = true;
    RunAll();
  }

 private:
  void RunOne() {
    if (queue_.empty()) return;
    absl::AnyInvocable<void()> work = std::move(queue_.front());
    queue_.pop_front();
    work();
  }
  void RunAll() {
    if (running_) return;  // Never inside of other work.
    running_ = true;
    while (!queue_.empty()) RunOne();
    running_ = false;
  }

  SimLoop& loop_;
  const int machine_;
  const uint64_t life_;
  bool closed_ = false;
  bool running_ = false;
  std::deque<absl::AnyInvocable<void()>> queue_;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_EXECUTOR_H_
