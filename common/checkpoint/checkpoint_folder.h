// The folder of a job's checkpoints.
#ifndef SERAPH_COMMON_CHECKPOINT_CHECKPOINT_FOLDER_H_
#define SERAPH_COMMON_CHECKPOINT_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint/cut_part.h"
#include "common/checkpoint/manifest.h"
#include "common/io/blob_folder.h"

namespace seraph {

// A checkpoint is there when its manifest has its name: that is written last.
//
// Errors, beside those named: as BlobFolder. All name the file.
// Threads: any, but Write and Prune only one at a time.
class CheckpointFolder {
 public:
  // `folder` must outlive this.
  explicit CheckpointFolder(BlobFolder* folder) : folder_(*folder) {}

  // Writes the manifest of a checkpoint whose files are all there and synced;
  // after OK it survives a power cut. Returns the file's name.
  absl::StatusOr<std::string> Write(const CheckpointManifest& manifest);

  // Errors: DataLoss, InvalidArgument as ManifestFromText, and for a manifest
  // whose file has the name of another.
  absl::StatusOr<CheckpointManifest> Read(const std::string& file);

  // The names of all manifests, the newest first: by generation, then cut.
  absl::StatusOr<std::vector<std::string>> List();

  // Reads every file of the checkpoint: it is there, and has the size and the
  // checksum that the manifest names. `go_on`, unless null, is asked now and
  // then; its error ends the search. Errors: DataLoss, which says what to do.
  absl::Status Verify(const CheckpointManifest& manifest,
                      const std::function<absl::Status()>& go_on = nullptr);

  struct Found {
    std::optional<std::string> file;  // Unset: there is none that can be used.
    CheckpointManifest manifest;      // Of it.
    // Why each newer one was refused, newest first: "/c/g1-c4.checkpoint: ...".
    std::vector<std::string> refused;
  };
  // The newest checkpoint of the job that verifies; with an empty id, of any
  // job. Errors: those of listing the folder, and of `go_on`.
  absl::StatusOr<Found> FindNewest(
      const std::string& job_id,
      const std::function<absl::Status()>& go_on = nullptr);

  // Keeps the newest `keep` (>= 1) checkpoints of the job, and `verified`, a
  // manifest's file: the newest one that was written with success or verified.
  // Removes the job's older ones, and the files of checkpoints older than the
  // newest that no manifest names: those of removed ones, and what cuts left
  // that were never complete. Files that are none of ours, manifests of other
  // jobs and what they name are not touched. A manifest goes before its files.
  // Requires: no cut older than the newest manifest is being written.
  // Returns the names that were removed.
  absl::StatusOr<std::vector<std::string>> Prune(const std::string& job_id,
                                                 uint32_t keep,
                                                 const std::string& verified);

 private:
  absl::Status VerifyFile(const CutFile& file,
                          const std::function<absl::Status()>& go_on);

  BlobFolder& folder_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_CHECKPOINT_FOLDER_H_
