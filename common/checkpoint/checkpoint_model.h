// The weights of a checkpoint, as of a model file.
#ifndef SERAPH_COMMON_CHECKPOINT_CHECKPOINT_MODEL_H_
#define SERAPH_COMMON_CHECKPOINT_CHECKPOINT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/key.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/part_reader.h"
#include "common/io/blob_folder.h"
#include "common/model_file/model_file_format.h"
#include "common/model_file/model_metadata.h"

namespace seraph {

// Gives the values that a pull at the cut's clocks gives, lazy terms included,
// and no optimizer state. Like ModelFileReader, but rows come in no order.
//
// Errors: DataLoss, InvalidArgument, ... as CheckpointFolder and PartReader,
// naming the file.
// Threads: one at a time. Memory: the manifest and one block.
class CheckpointModel {
 public:
  // `path`: a manifest, or a folder of one job's checkpoints, whose newest one
  // that verifies is taken. Reads the files of the checkpoint once, to verify
  // it. Errors: NotFound for a folder without a checkpoint that can be used,
  // with the reasons; FailedPrecondition for a checkpoint that says nothing of
  // its model.
  static absl::StatusOr<std::unique_ptr<CheckpointModel>> Open(
      const std::string& path);

  // Whether `path` is a folder, or a file with the name of a manifest.
  static bool IsCheckpoint(const std::string& path);

  const ModelMetadata& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }  // Of the manifest.
  // Newer ones of the folder that cannot be used, each with its name and why.
  const std::vector<std::string>& refused() const { return refused_; }

  // The next table, in the manifest's order; the rows that are left of the one
  // before are skipped. nullopt after the last one.
  absl::StatusOr<std::optional<ModelTableHeader>> NextTable();

  // Replaces `keys` (original ones) and `values` ([keys * width], row-major) by
  // some rows of the table; false at its end.
  absl::StatusOr<bool> NextRows(std::vector<Key>* keys,
                                std::vector<float>* values);

  // How much of the rows was given, 0 to 1.
  double fraction() const;

 private:
  CheckpointModel(std::unique_ptr<BlobFolder> folder,
                  CheckpointManifest manifest, ModelMetadata metadata,
                  std::string path, std::vector<std::string> refused);

  const std::unique_ptr<BlobFolder> folder_;
  const CheckpointManifest manifest_;
  const ModelMetadata metadata_;
  const std::string path_;
  const std::vector<std::string> refused_;
  uint64_t total_rows_ = 0;
  uint64_t given_rows_ = 0;
  size_t next_table_ = 0;
  size_t next_part_ = 0;  // Of the table, in the manifest.
  std::unique_ptr<PartReader> part_;
  PartBlock block_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_CHECKPOINT_MODEL_H_
