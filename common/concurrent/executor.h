// Something that runs closures: threads, or a test.
#ifndef SERAPH_COMMON_CONCURRENT_EXECUTOR_H_
#define SERAPH_COMMON_CONCURRENT_EXECUTOR_H_

#include "absl/functional/any_invocable.h"

namespace seraph {

// Threads: Schedule may be called from any thread, also from inside of work.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `work` exactly once, later or on another thread, never inside of this
  // call. Work throws nothing.
  virtual void Schedule(absl::AnyInvocable<void()> work) = 0;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CONCURRENT_EXECUTOR_H_
