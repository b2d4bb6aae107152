#include "common/checkpoint/checkpoint_model.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/io/posix_blob_folder.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/table/lazy_terms.h"
#include "common/table/partitioning.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

// One manifest, verified; or the newest of the folder.
absl::StatusOr<CheckpointFolder::Found> Find(BlobFolder* folder,
                                             const std::string& file) {
  CheckpointFolder checkpoints(folder);
  if (file.empty()) {
    SERAPH_ASSIGN_OR_RETURN(CheckpointFolder::Found found,
                            checkpoints.FindNewest(/*job_id=*/""));
    if (found.file.has_value()) return found;
    return absl::NotFoundError(absl::StrCat(
        folder->path(), ": the folder has no checkpoint that can be used",
        found.refused.empty() ? "" : ": ", absl::StrJoin(found.refused, "; ")));
  }
  CheckpointFolder::Found found;
  SERAPH_ASSIGN_OR_RETURN(found.manifest, checkpoints.Read(file));
  SERAPH_RETURN_IF_ERROR(checkpoints.Verify(found.manifest));
  found.file = file;
  return found;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointModel>> CheckpointModel::Open(
    const std::string& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const fs::path parent = fs::path(path).parent_path();
  auto folder =
      std::make_unique<PosixBlobFolder>(is_folder        ? path
                                        : parent.empty() ? "."
                                                         : parent.string());
  SERAPH_ASSIGN_OR_RETURN(
      CheckpointFolder::Found found,
      Find(folder.get(), is_folder ? "" : fs::path(path).filename().string()));
  std::string manifest_path = folder->PathOf(*found.file);
  if (found.manifest.model.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(manifest_path, ": says nothing of the model"));
  }
  absl::StatusOr<ModelMetadata> metadata =
      ModelMetadataFromJson(found.manifest.model);
  if (!metadata.ok()) {
    return Annotate(metadata.status(), absl::StrCat(manifest_path, ": model"));
  }
  return absl::WrapUnique(new CheckpointModel(
      std::move(folder), std::move(found.manifest), *std::move(metadata),
      std::move(manifest_path), std::move(found.refused)));
}

bool CheckpointModel::IsCheckpoint(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) ||
         ParseManifestName(fs::path(path).filename().string()).has_value();
}

CheckpointModel::CheckpointModel(std::unique_ptr<BlobFolder> folder,
                                 CheckpointManifest manifest,
                                 ModelMetadata metadata, std::string path,
                                 std::vector<std::string> refused)
    : folder_(std::move(folder)),
      manifest_(std::move(manifest)),
      metadata_(std::move(metadata)),
      path_(std::move(path)),
      refused_(std::move(refused)) {
  for (const CutPart& part : manifest_.parts) total_rows_ += part.rows;
}

absl::StatusOr<std::optional<ModelTableHeader>> CheckpointModel::NextTable() {
  if (next_table_ == manifest_.tables.size()) return std::nullopt;
  const TableSpec& table = manifest_.tables[next_table_++];
  next_part_ = 0;
  part_.reset();
  return ModelTableHeader{table.name, table.kind, table.keys, table.width};
}

absl::StatusOr<bool> CheckpointModel::NextRows(std::vector<Key>* keys,
                                               std::vector<float>* values) {
  const size_t index = next_table_ - 1;
  while (true) {
    if (part_ == nullptr) {
      while (next_part_ < manifest_.parts.size() &&
             manifest_.parts[next_part_].table != index) {
        ++next_part_;
      }
      if (next_part_ == manifest_.parts.size()) return false;
      SERAPH_ASSIGN_OR_RETURN(part_,
                              PartReader::Open(folder_.get(), manifest_,
                                               manifest_.parts[next_part_++]));
    }
    SERAPH_ASSIGN_OR_RETURN(const bool more, part_->Next(&block_));
    if (more) break;
    part_.reset();
  }
  const TableSpec& table = manifest_.tables[index];
  const PartHead& head = part_->head();
  const LazyTerms lazy = LazyTermsOf(table.optimizer);
  const LazySums sums{head.log_decay, head.shrink};
  if (head.row_cells < table.width + lazy.record_cells()) {
    return absl::DataLossError(absl::StrCat(path_, ": rows of table '",
                                            table.name, "' are too short"));
  }
  keys->clear();
  values->clear();
  for (size_t i = 0; i < block_.keys.size(); ++i) {
    keys->push_back(ToOriginalKey(table, block_.keys[i]));
    // The weights come first and the record last: server/update/update_rule.h.
    const float* row = block_.cells.data() + i * head.row_cells;
    const LazyShift shift =
        lazy.Between(row + head.row_cells - lazy.record_cells(), sums);
    for (uint32_t j = 0; j < table.width; ++j) {
      values->push_back(shift.IsIdentity() ? row[j]
                                           : static_cast<float>(shift(row[j])));
    }
  }
  given_rows_ += keys->size();
  return true;
}

double CheckpointModel::fraction() const {
  return total_rows_ == 0 ? 1.0
                          : static_cast<double>(given_rows_) / total_rows_;
}

}  // namespace seraph
