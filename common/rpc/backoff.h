// How long to wait before the next attempt.
#ifndef SERAPH_COMMON_RPC_BACKOFF_H_
#define SERAPH_COMMON_RPC_BACKOFF_H_

#include <cstdint>

#include "absl/time/time.h"

namespace seraph {

// Doubles from `initial` to `max`; each delay is drawn from its upper half, so
// that many who failed together do not come back together.
//
// Threads: belongs to one thread at a time.
class Backoff {
 public:
  // 0 < initial <= max. The draws follow from `seed`.
  Backoff(absl::Duration initial, absl::Duration max, uint64_t seed);

  // The delay before the next attempt: in (d / 2, d], where d is initial, then
  // twice that, and so on, at most max.
  absl::Duration Next();

  // After a success: the next delay is the first again.
  void Reset() { next_ = initial_; }

 private:
  const absl::Duration initial_;
  const absl::Duration max_;
  const uint64_t seed_;
  absl::Duration next_;
  uint64_t draws_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_BACKOFF_H_
