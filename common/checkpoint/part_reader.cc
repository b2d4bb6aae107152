#include "common/checkpoint/part_reader.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<PartReader>> PartReader::Open(
    BlobFolder* folder, const CheckpointManifest& manifest,
    const CutPart& part) {
  if (part.files.empty()) {
    return absl::DataLossError(absl::StrCat(
        folder->PathOf(
            ToString(ManifestName{manifest.generation, manifest.cut})),
        ": table ", part.table, ", partition ", part.partition,
        " has no files"));
  }
  auto reader = absl::WrapUnique(new PartReader(folder, manifest, part));
  SERAPH_RETURN_IF_ERROR(reader->OpenNext());
  return reader;
}

PartReader::PartReader(BlobFolder* folder, const CheckpointManifest& manifest,
                       const CutPart& part)
    : folder_(folder),
      manifest_(manifest),
      part_(part),
      left_(part.files.size()),
      expected_cut_(manifest.cut) {}

absl::Status PartReader::OpenNext() {
  SERAPH_ASSIGN_OR_RETURN(file_,
                          PartFileReader::Open(folder_, part_.files[--left_]));
  const bool newest = left_ + 1 == part_.files.size();
  if (newest) {
    head_ = file_->head();
    seen_.resize(head_.blocks);
  }
  SERAPH_RETURN_IF_ERROR(CheckHead());
  expected_cut_ = file_->head().base_cut;
  if ((expected_cut_ == 0) != (left_ == 0)) {
    return file_->Damaged(
        expected_cut_ == 0
            ? "it has all blocks, but the manifest names older files"
            : absl::StrCat("it goes on from cut ", expected_cut_,
                           ", whose file the manifest does not name"));
  }
  return absl::OkStatus();
}

absl::Status PartReader::CheckHead() const {
  const PartHead& head = file_->head();
  const auto differs = [&](absl::string_view what) {
    return file_->Damaged(
        absl::StrCat("it is of another ", what, " than the manifest says"));
  };
  if (head.job_id != manifest_.job_id) {
    return differs(absl::StrCat("job ('", head.job_id, "')"));
  }
  if (head.generation != manifest_.generation) return differs("generation");
  if (head.cut != expected_cut_) {
    return differs(
        absl::StrCat("cut (", head.cut, ", not ", expected_cut_, ")"));
  }
  if (head.table != part_.table) return differs("table");
  if (head.partition != part_.partition) return differs("partition");
  if (head.range != part_.range) return differs("range of keys");
  if (head.layout != head_.layout || head.row_cells != head_.row_cells ||
      head.blocks > head_.blocks) {
    return file_->Damaged("it is of another chain of files");
  }
  if (expected_cut_ != manifest_.cut) return absl::OkStatus();
  if (head.clocks != manifest_.clocks) return differs("clock of the ranks");
  if (head.rows != part_.rows) return differs("number of rows");
  return absl::OkStatus();
}

absl::StatusOr<bool> PartReader::Next(PartBlock* block) {
  SERAPH_RETURN_IF_ERROR(status_);
  absl::StatusOr<bool> more = ReadNext(block);
  if (!more.ok()) status_ = more.status();
  return more;
}

absl::StatusOr<bool> PartReader::ReadNext(PartBlock* block) {
  while (true) {
    SERAPH_ASSIGN_OR_RETURN(const bool more, file_->Next(block));
    if (!more) {
      if (left_ == 0) break;
      SERAPH_RETURN_IF_ERROR(OpenNext());
      continue;
    }
    // An older file's block of this number was written again since.
    if (seen_[block->number]) continue;
    seen_[block->number] = true;
    ++blocks_;
    rows_ += block->keys.size();
    for (const Key key : block->keys) {
      if (!part_.range.Contains(key)) {
        return file_->Damaged(
            absl::StrCat("key ", key, " is not of the partition"));
      }
    }
    return true;
  }
  if (blocks_ != head_.blocks || rows_ != head_.rows) {
    return file_->Damaged(absl::StrCat(
        "with the files before it, it has ", blocks_, " blocks and ", rows_,
        " rows of ", head_.blocks, " and ", head_.rows));
  }
  return false;
}

}  // namespace seraph
