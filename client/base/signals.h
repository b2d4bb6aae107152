// Signals of the operating system, as calls on a thread.
#ifndef SERAPH_CLIENT_BASE_SIGNALS_H_
#define SERAPH_CLIENT_BASE_SIGNALS_H_

#include <signal.h>

#include <thread>

#include "client/base/interrupt.h"

namespace seraph {

// While it lives, SIGINT, SIGTERM and SIGHUP trigger `interrupt` on a thread of
// its own, where anything may be done, and SIGPIPE is ignored. After
// kTimesToEnd of them the process ends at once with 130.
//
// Made in main before there are other threads, which inherit that the signals
// are blocked. Child
// processes must get an empty mask.
class SignalWatcher {
 public:
  static constexpr int kTimesToEnd = 3;

  // `interrupt` must outlive this.
  explicit SignalWatcher(Interrupt* interrupt);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void Watch();

  Interrupt& interrupt_;
  sigset_t watched_;
  sigset_t old_mask_;
  std::thread thread_;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_BASE_SIGNALS_H_
