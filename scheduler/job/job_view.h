// A job as people see it.
#ifndef SERAPH_SCHEDULER_JOB_JOB_VIEW_H_
#define SERAPH_SCHEDULER_JOB_JOB_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace seraph {

enum class JobState {
  kPending,
  kRunning,
  kPaused,
  kSucceeded,
  kFailed,
  kCancelled,
};

// "PENDING", "RUNNING", ...
absl::string_view JobStateName(JobState state);

// SUCCEEDED, FAILED and CANCELLED are final.
bool HasEnded(JobState state);

// What a job does, in this order.
enum class JobPhase {
  kWaiting,   // For nodes.
  kScanning,  // Finds the files and what is in them.
  kPlacing,   // Creates the tables on the servers.
  kLoading,   // The rows of a saved model.
  kTraining,
  kExporting,   // Writes the model.
  kRecovering,  // Goes back to its last checkpoint, or to its start.
  kEnded,       // Or paused.
};

// "waiting", "scanning", ...; "" once it has ended, and while it is paused.
absl::string_view JobPhaseName(JobPhase phase);

// By name, in the order of common/metrics/metric_sums.h.
using MetricValues = std::vector<std::pair<std::string, double>>;

// Whether they are the same to the bit: a value may be no number.
bool SameBits(const MetricValues& a, const MetricValues& b);

struct EpochView {
  uint32_t epoch = 0;     // From 1.
  uint64_t examples = 0;  // Trained with.
  absl::Duration seconds;
  MetricValues train;
  MetricValues validation;

  friend bool operator==(const EpochView& a, const EpochView& b) {
    return a.epoch == b.epoch && a.examples == b.examples &&
           a.seconds == b.seconds && SameBits(a.train, b.train) &&
           SameBits(a.validation, b.validation);
  }
};

// The latest checkpoint of a job.
struct CheckpointView {
  std::string path;  // Of its manifest.
  absl::Time time;
  uint32_t epoch = 0;  // Finished ones, and ...
  uint32_t step = 0;   // ... the least step of the next one that is in it.
  uint64_t bytes = 0;  // Written for it; unchanged blocks are not.

  friend bool operator==(const CheckpointView&,
                         const CheckpointView&) = default;
};

struct JobView {
  std::string id;
  std::string name;
  uint64_t version = 0;  // Raised by every change of what is below.
  JobState state = JobState::kPending;
  JobPhase phase = JobPhase::kWaiting;
  std::string error;        // What, where and what to do; FAILED alone.
  std::string waiting_for;  // Why it does not start, or does not go on.
  absl::Time submitted;
  std::optional<absl::Time> started;
  std::optional<absl::Time> ended;

  uint32_t ranks = 0;
  uint32_t epochs_total = 0;
  std::vector<EpochView> epochs;  // Finished ones.
  MetricValues running;           // Train metrics of the current epoch so far.
  uint64_t epoch_examples = 0;    // Done in the current epoch ...
  uint64_t epoch_examples_total = 0;  // ... of so many.
  double examples_per_second = 0;
  double phase_fraction = 0;  // Of scanning, loading, exporting: 0 to 1.

  std::string model_path;     // Once it is there.
  std::string model_digest;   // "sha256:...".
  uint64_t records_read = 0;  // Good training records: of one pass.
  uint64_t records_bad = 0;
  uint32_t recoveries = 0;
  std::vector<std::string> warnings;

  std::optional<CheckpointView> checkpoint;
  uint32_t replicas = 1;       // Wanted for each partition.
  uint32_t least_in_sync = 0;  // Of all partitions; 0 without tables.

  friend bool operator==(const JobView&, const JobView&) = default;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_JOB_VIEW_H_
