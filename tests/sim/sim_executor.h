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
//
// Destructors of what is under test wait until their work has run. In one
// thread that work must run inside of them: within RunInside it does, and with
// Close it does from then on.
class SimExecutor final : public Executor {
 public:
  SimExecutor(SimLoop* loop, int machine)
      : loop_(*loop), machine_(machine), life_(loop->life(machine)) {}

  void Schedule(absl::AnyInvocable<void()> work) override {
    if (inside_) return work();
    queue_.push_back(std::move(work));
    loop_.AfterIn(loop_.Between(absl::ZeroDuration(), absl::Microseconds(50)),
                  machine_, life_, "work", [this] { RunOne(); });
  }

  void RunInside(absl::AnyInvocable<void()> work) {
    RunAll();
    const bool before = std::exchange(inside_, true);
    work();
    inside_ = before;
  }

  // The machine is down, or the simulation at its end.
  void Close() {
    inside_ = true;
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
    while (!queue_.empty()) RunOne();
  }

  SimLoop& loop_;
  const int machine_;
  const uint64_t life_;
  bool inside_ = false;
  std::deque<absl::AnyInvocable<void()>> queue_;
};

// Frees things whose destructors wait for work of `executor`.
class SimReaper final : public Executor {
 public:
  SimReaper(SimLoop* loop, int machine, SimExecutor* executor)
      : loop_(*loop),
        machine_(machine),
        life_(loop->life(machine)),
        executor_(*executor) {}

  void Schedule(absl::AnyInvocable<void()> work) override {
    queue_.push_back(std::move(work));
    if (closed_) return RunAll();
    loop_.AfterIn(absl::Microseconds(10), machine_, life_, "reap",
                  [this] { RunAll(); });
  }

  // As SimExecutor's, and after that.
  void Close() {
    closed_ = true;
    RunAll();
  }

 private:
  void RunAll() {
    while (!queue_.empty()) {
      absl::AnyInvocable<void()> work = std::move(queue_.front());
      queue_.pop_front();
      executor_.RunInside(std::move(work));
    }
  }

  SimLoop& loop_;
  const int machine_;
  const uint64_t life_;
  SimExecutor& executor_;
  bool closed_ = false;
  std::deque<absl::AnyInvocable<void()>> queue_;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_EXECUTOR_H_
