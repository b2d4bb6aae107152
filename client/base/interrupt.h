// The user's wish to stop: Ctrl-C, or a signal to end.
#ifndef SERAPH_CLIENT_BASE_INTERRUPT_H_
#define SERAPH_CLIENT_BASE_INTERRUPT_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"

namespace seraph {

// Threads: every method may be called from any thread.
class Interrupt {
 public:
  // Keeps a callback subscribed for as long as it lives. When its destructor
  // returns, the callback does not run and will not run any more.
  class Subscription {
   public:
    Subscription(Interrupt* interrupt, uint64_t number)
        : interrupt_(*interrupt), number_(number) {}
    ~Subscription() { interrupt_.Unsubscribe(number_); }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    Interrupt& interrupt_;
    const uint64_t number_;
  };

  // The user asks to stop; whoever asks again is in a hurry. Runs the callbacks
  // on this thread.
  void Trigger() ABSL_LOCKS_EXCLUDED(mu_);

  bool requested() const ABSL_LOCKS_EXCLUDED(mu_) { return times() > 0; }
  int times() const ABSL_LOCKS_EXCLUDED(mu_);

  // Cancelled "interrupted" once it was requested, OK before: for loops.
  absl::Status Check() const ABSL_LOCKS_EXCLUDED(mu_);

  // Runs `callback` at each Trigger; at once, on this thread, where there was
  // one already. It must not subscribe or unsubscribe.
  std::unique_ptr<Subscription> Subscribe(absl::AnyInvocable<void()> callback)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Returns early, with true, at a Trigger; true at once where `times` says
  // that there have been more of them already.
  bool WaitFor(absl::Duration timeout, int times = 0) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Unsubscribe(uint64_t number) ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  mutable CondVar changed_;
  int times_ ABSL_GUARDED_BY(mu_) = 0;

  // Held while callbacks run, so that an unsubscription waits for them. Before
  // mu_, never after it.
  Mutex callbacks_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  uint64_t next_number_ ABSL_GUARDED_BY(callbacks_mu_) = 0;
  std::map<uint64_t, absl::AnyInvocable<void()>> callbacks_
      ABSL_GUARDED_BY(callbacks_mu_);
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_BASE_INTERRUPT_H_
