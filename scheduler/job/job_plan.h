// What a job is, and what was decided about it before clock 0.
#ifndef SERAPH_SCHEDULER_JOB_JOB_PLAN_H_
#define SERAPH_SCHEDULER_JOB_JOB_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/cluster/partition_placement.h"
#include "common/dataset/dataset_facts.h"
#include "common/dataset/label_map.h"
#include "common/job/job_spec.h"
#include "common/table/table_spec.h"
#include "scheduler/job/job_ref.h"

namespace seraph {

// A job as it was submitted.
struct JobRequest {
  JobSpec spec;
  std::string base_directory;  // Relative paths of `spec` start here.
  std::string submission_id;   // "": none.
};

// Decided once; orders share it.
struct JobPlan {
  JobRef job;
  JobSpec spec;      // With the classes that the data has.
  std::string yaml;  // `spec`, canonical.
  std::string base_directory;

  DatasetFacts train;
  std::optional<DatasetFacts> validation;  // Unset: none, or a part of train.
  LabelMap labels;
  std::vector<TableSpec> tables;
  uint64_t steps_per_epoch = 0;  // Clocks of the rank that has the most.

  // Whether all ranks meet at the end of an epoch (FinishEpoch): in bsp and
  // ssp, and in asp where the epoch's end has work to do.
  bool epoch_barrier = true;

  // What changes with the generation and with each change of servers.
  std::vector<PartitionPlacement> partitions;
  uint64_t placements_version = 0;  // Of `partitions`.

  absl::Duration lease = absl::Seconds(5);  // The heartbeat timeout.
};

// The file by which servers prove that they see the folder of a job's
// checkpoints.
inline constexpr char kFolderToken[] = "folder.token";

// The absolute path of `path`, which starts at `base_directory` if it is
// relative.
std::string PathOf(const std::string& base_directory, const std::string& path);

// Where the job's model, its record, and the token that proves the folder
// writable lie.
std::string ModelPath(const JobSpec& spec, const std::string& base_directory);
std::string RecordPath(const JobSpec& spec, const std::string& base_directory);

// Where a job's checkpoints lie: below its own directory, or `root` where it
// has none; "" if there is neither.
std::string CheckpointPath(const JobSpec& spec,
                           const std::string& base_directory,
                           const std::string& root, const std::string& job);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_JOB_PLAN_H_
