// How the entries of a job's ranks are brought together.
#ifndef SERAPH_COMMON_JOB_SYNC_SPEC_H_
#define SERAPH_COMMON_JOB_SYNC_SPEC_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace seraph {

// What a pull at a clock returns and when an entry is applied:
// docs/architecture.md has the table.
enum class SyncMode { kBsp, kSsp, kAsp };

// How bsp brings the ranks' gradients of one clock together.
enum class Combine {
  kMean,  // Over the examples of all ranks at that clock.
  kSum,   // Over the ranks.
};

// The names that job files and messages use.
absl::string_view SyncModeName(SyncMode mode);
absl::string_view CombineName(Combine combine);

struct SyncSpec {
  SyncMode mode = SyncMode::kBsp;
  uint32_t staleness = 0;  // Clocks; > 0 only with ssp.
  Combine combine = Combine::kMean;
  uint32_t pipeline = 0;  // Own entries unacknowledged; > 0 not with bsp.

  friend bool operator==(const SyncSpec&, const SyncSpec&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_JOB_SYNC_SPEC_H_
