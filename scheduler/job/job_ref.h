// Names of jobs and ranks, and the two times that the scheduler knows.
#ifndef SERAPH_SCHEDULER_JOB_JOB_REF_H_
#define SERAPH_SCHEDULER_JOB_JOB_REF_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace seraph {

// A job's current life: proto/types.proto.
struct JobRef {
  std::string id;
  uint64_t generation = 1;

  friend bool operator==(const JobRef&, const JobRef&) = default;
};

struct RankRef {
  uint32_t rank = 0;
  uint32_t attempt = 1;

  friend bool operator==(const RankRef&, const RankRef&) = default;
};

// Decisions count on `steady` alone, which never goes back; `wall` is for what
// people read.
struct Moment {
  absl::Duration steady;
  absl::Time wall;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_JOB_REF_H_
