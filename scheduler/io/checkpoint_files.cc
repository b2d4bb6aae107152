#include "scheduler/io/checkpoint_files.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/folder_proof.h"
#include "common/checkpoint/manifest.h"
#include "common/io/posix_blob_folder.h"
#include "common/model_file/model_metadata.h"
#include "common/status/status_macros.h"
#include "common/version/version.h"
#include "scheduler/io/job_record.h"
#include "scheduler/io/model_transfer.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

constexpr char kWhatToDo[] =
    "; put checkpoint.directory (or scheduler.checkpoint_directory) where the "
    "scheduler and all servers see it at the same place";

}  // namespace

absl::Status ProveCheckpointFolder(const FolderProof& proof) {
  const absl::Status left = LeaveToken(proof.directory, proof.token);
  if (left.ok()) return left;
  return absl::FailedPreconditionError(absl::StrCat(
      "checkpoint.directory: ", left.message(),
      "; choose a folder that the scheduler and all servers may write to"));
}

absl::StatusOr<ManifestWritten> WriteCheckpointManifest(
    const JobRef& job, const WriteManifest& order) {
  for (const CutPart& part : order.parts) {
    for (const CutFile& file : part.files) {
      const std::string path = absl::StrCat(order.directory, "/", file.name);
      std::error_code failed;
      const uint64_t bytes = fs::file_size(path, failed);
      if (!failed && bytes == file.bytes) continue;
      return absl::DataLossError(absl::StrCat(
          path, ": ",
          failed ? failed.message()
                 : absl::StrCat("has ", bytes, " bytes, not ", file.bytes),
          "; a server has written it: it sees another folder", kWhatToDo));
    }
  }
  CheckpointManifest manifest;
  manifest.seraph_version = kVersion;
  manifest.job_id = job.id;
  manifest.job_name = order.plan->spec.name;
  manifest.generation = job.generation;
  manifest.cut = order.cut;
  manifest.time = absl::Now();
  manifest.clocks = order.clocks;
  manifest.tables = order.plan->tables;
  manifest.parts = order.parts;
  manifest.job_yaml = order.plan->yaml;
  manifest.model = ModelMetadataToJson(MetadataOf(*order.plan));
  manifest.state = JobRecordJson(order.view);
  PosixBlobFolder folder(order.directory);
  CheckpointFolder checkpoints(&folder);
  ManifestWritten written;
  SERAPH_ASSIGN_OR_RETURN(written.manifest, checkpoints.Write(manifest));
  return written;
}

absl::Status PruneCheckpointFolder(const std::string& job,
                                   const PruneCheckpoints& order) {
  PosixBlobFolder folder(order.directory);
  CheckpointFolder checkpoints(&folder);
  return checkpoints.Prune(job, order.keep, order.newest).status();
}

}  // namespace seraph
