// A job file, read and checked: what to train, on what, and how.
//
// Plain data. docs/job-reference.md lists every key with its default, unit and
// range; a test holds page and code together.
#ifndef SERAPH_COMMON_JOB_JOB_SPEC_H_
#define SERAPH_COMMON_JOB_JOB_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/config/key_info.h"
#include "common/dataset/data_options.h"
#include "common/job/optimizer_keys.h"
#include "common/job/sync_spec.h"
#include "common/model/model_spec.h"
#include "common/table/table_spec.h"

namespace seraph {

// What a gradient or loss that is not finite does.
enum class NonFiniteAction {
  kFail,  // Stops the job, naming table, key, rank and clock.
  kSkip,  // Leaves the batch out, and counts it.
};

// The names that job files use.
absl::string_view NonFiniteActionName(NonFiniteAction action);

struct DataSpec {
  DataFormat format = DataFormat::kLibsvm;
  // Files, folders or globs, as written: relative ones start at the folder of
  // the job file, which travels beside the spec.
  std::vector<std::string> train;  // Not empty.
  std::vector<std::string> validation;
  double validation_fraction = 0;  // [0, 1); > 0 only without `validation`.
  DataOptions options;

  bool HasValidation() const {
    return !validation.empty() || validation_fraction > 0;
  }
  friend bool operator==(const DataSpec&, const DataSpec&) = default;
};

// Stops the job when `metric` on the validation data has not become better for
// `patience` epochs on end. Needs validation data.
struct StopSpec {
  std::string metric;     // One of MetricNames() of the model's kind.
  uint32_t patience = 2;  // Epochs, >= 1.

  friend bool operator==(const StopSpec&, const StopSpec&) = default;
};

struct TrainSpec {
  uint32_t epochs = 10;       // >= 1.
  uint32_t batch_size = 256;  // Examples per rank and clock, >= 1.
  bool shuffle = true;
  OptimizerSpec optimizer = DefaultOptimizer(OptimizerKind::kAdagrad);
  double clip_norm = 0;  // Of a rank's gradient over all tables; 0: none.
  ScheduleSpec schedule;
  NonFiniteAction on_non_finite = NonFiniteAction::kFail;
  // A rank whose clock stands still for longer, while others wait for it, is
  // handed out anew. 0: never.
  absl::Duration stall_timeout = absl::Minutes(10);
  std::optional<StopSpec> stop;

  friend bool operator==(const TrainSpec&, const TrainSpec&) = default;
};

struct TablesSpec {
  std::optional<uint32_t> partitions;  // Per table; unset: the cluster's.
  uint32_t replicas = 1;
  uint32_t min_in_sync = 1;          // <= replicas.
  bool scramble = false;             // Of sparse tables.
  uint32_t admit_after = 1;          // Of sparse tables, 1..255.
  uint32_t expire_after_epochs = 0;  // Of sparse tables; 0: never.
  ValueKind transport = ValueKind::kFloat32;

  friend bool operator==(const TablesSpec&, const TablesSpec&) = default;
};

struct CheckpointSpec {
  std::string directory;
  uint32_t every_epochs = 1;
  uint64_t every_clocks = 0;
  uint32_t keep = 3;

  friend bool operator==(const CheckpointSpec&,
                         const CheckpointSpec&) = default;
};

struct JobSpec {
  std::string name;
  uint64_t seed = 1;
  uint32_t ranks = 1;
  ModelSpec model;
  DataSpec data;
  TrainSpec train;
  SyncSpec sync;
  TablesSpec tables;
  std::optional<CheckpointSpec> checkpoint;
  std::string init_model;                // "": starts anew.
  std::string output_directory = "out";  // For the model and the record.

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

struct ParsedJob {
  JobSpec spec;
  // Path of each value that was given -> where: "data.train" and
  // "data.train[0]" -> "job.yaml:12:11", or "--set data.train". For messages
  // about what only a later look can find, such as a missing file.
  std::map<std::string, std::string> origins;
};

// Reads `text`, the contents of the file `file_name` (used in messages), with
// the overrides `sets` ("train.epochs=3", the later one wins) applied. Every
// limit that can be checked without opening another file is checked.
//
// Errors: InvalidArgument with one line for each problem, all of them at once:
//   job.yaml:7:3: unknown key 'optimiser' in 'train' (did you mean
//   'optimizer'?)                                            (in one line)
//   job.yaml:9:11: train.epochs: 0 is not in 1..1000000
//   --set sync.mode: unknown value 'bps' (did you mean 'bsp'?); known are ...
absl::StatusOr<ParsedJob> ParseJobFile(absl::string_view text,
                                       absl::string_view file_name,
                                       absl::Span<const std::string> sets);

// ParseJobFile(...).spec.
absl::StatusOr<JobSpec> ParseJobSpec(absl::string_view text,
                                     absl::string_view file_name,
                                     absl::Span<const std::string> sets);

// The canonical text: every value explicit. It is what travels to scheduler and
// workers; ParseJobSpec gives back an equal struct.
// Requires: values that a job file may have, and model.loss set, as in what
// ParseJobSpec returns.
std::string ToYaml(const JobSpec& spec);

// Every key, in the file's order.
std::vector<KeyInfo> DescribeJobSpec();

}  // namespace seraph

#endif  // SERAPH_COMMON_JOB_JOB_SPEC_H_
