// The folder of a job's checkpoints, as the scheduler uses it.
#ifndef SERAPH_SCHEDULER_IO_CHECKPOINT_FILES_H_
#define SERAPH_SCHEDULER_IO_CHECKPOINT_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/order.h"

namespace seraph {

// Creates the folder, and leaves the token there that servers look for.
// Errors: FailedPrecondition, naming the folder, the system's reason and what
// to do.
absl::Status ProveCheckpointFolder(const FolderProof& proof);

// Errors: as CheckpointFolder::Write; DataLoss for a file that a
// server has written and that is not here: the servers see another folder.
absl::StatusOr<ManifestWritten> WriteCheckpointManifest(
    const JobRef& job, const WriteManifest& order);

// Errors: as CheckpointFolder::Prune.
absl::Status PruneCheckpointFolder(const std::string& job,
                                   const PruneCheckpoints& order);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_IO_CHECKPOINT_FILES_H_
