// Who refuses a scheduler that has been replaced.
#ifndef SERAPH_COMMON_CLUSTER_TERM_GUARD_H_
#define SERAPH_COMMON_CLUSTER_TERM_GUARD_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/concurrent/mutex.h"
#include "common/status/errors.h"

namespace seraph {

// The highest term that a daemon has heard of: one for each process, which its
// cluster agent and all of its services share.
//
// Threads: every method may be called from any thread.
class TermGuard {
 public:
  // Remembers a term of which somebody has told.
  void Heard(uint64_t term) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    highest_ = std::max(highest_, term);
  }

  // To be asked with the term of every order, before it is carried out;
  // remembers it. Errors: FailedPrecondition, reason OLD_TERM with the value
  // "term", the highest: the order is of a scheduler that has been replaced.
  absl::Status Admit(uint64_t term) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (term >= highest_) {
      highest_ = term;
      return absl::OkStatus();
    }
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "the order is of the scheduler's term ", term, ", and of term ",
            highest_, " has been heard: that scheduler has been replaced")),
        "OLD_TERM", {{"term", absl::StrCat(highest_)}});
  }

  // 0: none has been heard of.
  uint64_t highest() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return highest_;
  }

 private:
  mutable Mutex mu_;
  uint64_t highest_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_TERM_GUARD_H_
