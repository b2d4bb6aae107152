// When a process has come to rest.
#ifndef SERAPH_COMMON_DAEMON_IDLE_WATCH_H_
#define SERAPH_COMMON_DAEMON_IDLE_WATCH_H_

#include "absl/time/time.h"

namespace seraph {

// Tells rest from work by the processor time that is used: whatever a process
// does, it shows there, and nothing has to report it.
//
// Threads: one at a time.
class IdleWatch {
 public:
  // A window of time is idle if less than `share` of a processor was used in
  // it.
  IdleWatch(absl::Duration window, double share)
      : window_(window), share_(share) {}

  // To be called more often than once a window. `now` never decreases, nor does
  // `used`, the process's processor time so far. True at the end of the first
  // idle window after a busy one; so never in a process that has done nothing.
  bool Tick(absl::Duration now, absl::Duration used);

 private:
  const absl::Duration window_;
  const double share_;
  bool started_ = false;
  bool idle_ = true;
  absl::Duration window_begin_;
  absl::Duration used_at_begin_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_DAEMON_IDLE_WATCH_H_
