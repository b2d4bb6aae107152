// A job as the scheduler describes it: JobStatus of proto/jobs.proto.
#ifndef SERAPH_CLIENT_VIEW_JOB_VIEW_H_
#define SERAPH_CLIENT_VIEW_JOB_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace seraph {

enum class JobState {
  kUnknown,  // Of a later version.
  kPending,
  kRunning,
  kPaused,
  kSucceeded,
  kFailed,
  kCancelled,
};

// Whether the job will not change any more.
inline bool HasEnded(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kFailed ||
         state == JobState::kCancelled;
}

// Name and value, in the order in which they are reported.
using NamedValues = std::vector<std::pair<std::string, double>>;

struct EpochView {
  uint32_t epoch = 0;  // From 1.
  uint64_t examples = 0;
  double seconds = 0;
  NamedValues train;
  NamedValues validation;  // Empty: the job has no validation data.
};

// A complete checkpoint.
struct CheckpointView {
  std::string path;    // Of its manifest.
  std::string time;    // RFC 3339, UTC.
  uint32_t epoch = 0;  // Finished ones, and ...
  uint32_t step = 0;   // ... the least step of the next one that is in it.
  uint64_t bytes = 0;  // Written for it.
};

struct JobView {
  std::string id;
  std::string name;
  JobState state = JobState::kUnknown;
  std::string error;      // Empty unless it failed.
  std::string phase;      // "scanning", "training", ...
  std::string submitted;  // RFC 3339, UTC; "" for not yet; likewise below.
  std::string started;
  std::string ended;
  std::vector<EpochView> epochs;  // Finished ones.
  uint32_t epochs_total = 0;
  uint64_t epoch_examples = 0;  // Done in the current epoch.
  uint64_t epoch_examples_total = 0;
  double examples_per_second = 0;
  double phase_fraction = 0;  // Of scanning, loading, exporting: 0 to 1.
  std::string model_path;
  std::string model_digest;  // "sha256:...".
  uint64_t records_read = 0;
  uint64_t records_bad = 0;
  uint32_t recoveries = 0;
  uint32_t ranks = 0;
  std::string waiting_for;     // Why it is pending, or does not go on.
  uint32_t replicas = 0;       // Wanted for each partition.
  uint32_t least_in_sync = 0;  // Of all partitions, now.
  std::optional<CheckpointView> checkpoint;  // The latest.
  std::vector<std::string> warnings;
};

// An event of a job.
struct LogLine {
  std::string time;  // RFC 3339, UTC.
  std::string text;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_VIEW_JOB_VIEW_H_
