// Closures that run one at a time, in the order they were posted: an actor.
//
// What an actor's closures touch needs no lock of its own. Many actors share
// the threads of one executor; a busy one gives its thread back after the
// closures it found, so that the others have their turn.
#ifndef SERAPH_COMMON_CONCURRENT_SERIAL_QUEUE_H_
#define SERAPH_COMMON_CONCURRENT_SERIAL_QUEUE_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "common/concurrent/executor.h"
#include "common/concurrent/mutex.h"

namespace seraph {

// Threads: Post may be called from any thread, also from a closure of this
// queue. Drain and the destructor may not be called from a closure of this
// queue, nor from the last free thread of the executor: they would wait for
// themselves.
class SerialQueue {
 public:
  // `executor` must outlive this.
  explicit SerialQueue(Executor* executor);

  // Waits until nothing is left, as Drain does: what was posted has run. Nobody
  // may post any more except those closures themselves.
  ~SerialQueue();

  SerialQueue(const SerialQueue&) = delete;
  SerialQueue& operator=(const SerialQueue&) = delete;

  // Runs `work` after all that was posted before it, never inside of this call.
  void Post(absl::AnyInvocable<void()> work) ABSL_LOCKS_EXCLUDED(mu_);

  // Runs `work` inside of this call if nothing that was posted is left, and
  // returns what it returned: false is to mean that it has done nothing and has
  // yet to be posted. Otherwise returns false at once: it waits for nobody, so
  // that a closure may call it too. What is posted meanwhile runs later.
  bool TryRun(absl::FunctionRef<bool()> work) ABSL_LOCKS_EXCLUDED(mu_);

  // Returns when the queue is empty and no closure runs: all that was posted
  // before the call has run, and what those posted too. While others keep
  // posting it may wait long.
  void Drain() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Batch = std::vector<absl::AnyInvocable<void()>>;

  // Runs the closures that are there, in turn.
  void RunBatch() ABSL_LOCKS_EXCLUDED(mu_);
  // Ends a turn: whatever was posted during it has the next one.
  void EndTurn() ABSL_LOCKS_EXCLUDED(mu_);

  Executor* const executor_;

  Mutex mu_;
  CondVar idle_;  // scheduled_ became false.
  Batch pending_ ABSL_GUARDED_BY(mu_);
  // RunBatch or TryRun runs, or RunBatch is going to: closures are left only
  // then.
  bool scheduled_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CONCURRENT_SERIAL_QUEUE_H_
