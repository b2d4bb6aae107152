// SIGTERM and SIGINT as a function call.
#ifndef SERAPH_COMMON_DAEMON_SIGNAL_WATCHER_H_
#define SERAPH_COMMON_DAEMON_SIGNAL_WATCHER_H_

#include <thread>

#include "absl/functional/any_invocable.h"

namespace seraph {

// The first signal calls a function, on the watcher's thread; the second ends
// the process at once with exit code 1.
//
// Made before any other thread, so that the signals are blocked in all of them;
// they stay blocked afterwards. At most one in a process.
class SignalWatcher {
 public:
  explicit SignalWatcher(absl::AnyInvocable<void(int signal)> on_first);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void Run();

  absl::AnyInvocable<void(int signal)> on_first_;
  const int signals_;  // Readable when a signal is there.
  const int end_;      // Readable when the thread is to end.
  std::thread thread_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_DAEMON_SIGNAL_WATCHER_H_
