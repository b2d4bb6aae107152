#include "server/checkpoint/restore_partition.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/part_reader.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "server/checkpoint/cut_state.h"
#include "server/store/make_row_store.h"

namespace seraph {
namespace {

class Restorer {
 public:
  Restorer(BlobFolder* folder, const CheckpointManifest& manifest,
           const RestoreTarget& target)
      : folder_(folder), manifest_(manifest), target_(target) {}

  absl::StatusOr<RestoredPartition> Run() {
    SERAPH_RETURN_IF_ERROR(CheckTable());
    SERAPH_ASSIGN_OR_RETURN(result_.store,
                            MakeRowStore(target_.spec, target_.range));
    result_.cut.ranks.resize(manifest_.clocks.size());
    for (size_t rank = 0; rank < manifest_.clocks.size(); ++rank) {
      result_.cut.ranks[rank].clock = manifest_.clocks[rank];
    }
    SERAPH_ASSIGN_OR_RETURN(const std::vector<const CutPart*> parts, Overlap());
    for (const CutPart* part : parts) SERAPH_RETURN_IF_ERROR(Take(*part));
    if (result_.store->rows() != rows_ &&
        target_.spec.kind == TableKind::kSparse) {
      return Contradiction("rows of equal keys are in several blocks");
    }
    return std::move(result_);
  }

 private:
  absl::Status Contradiction(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat(
        folder_->PathOf(
            ToString(ManifestName{manifest_.generation, manifest_.cut})),
        ": table '", target_.spec.name, "': ", what,
        "; the checkpoint cannot be used, an older one is"));
  }

  absl::Status CheckTable() const {
    if (target_.table < manifest_.tables.size()) {
      TableSpec spec = manifest_.tables[target_.table];
      spec.partitions = target_.spec.partitions;
      if (spec == target_.spec) return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        folder_->PathOf(
            ToString(ManifestName{manifest_.generation, manifest_.cut})),
        ": table '", target_.spec.name, "' of the job is not its table ",
        target_.table, "; only the number of partitions may be another"));
  }

  // The parts that have keys of the range, by their keys.
  absl::StatusOr<std::vector<const CutPart*>> Overlap() const {
    std::vector<const CutPart*> parts;
    for (const CutPart& part : manifest_.parts) {
      if (part.table == target_.table &&
          part.range.first <= target_.range.last &&
          part.range.last >= target_.range.first) {
        parts.push_back(&part);
      }
    }
    std::sort(parts.begin(), parts.end(), [](const auto* a, const auto* b) {
      return a->range.first < b->range.first;
    });
    Key next = target_.range.first;
    for (size_t i = 0; i < parts.size(); ++i) {
      const KeyRange& range = parts[i]->range;
      if (i == 0 ? range.first > next : range.first != next) {
        return Contradiction("its parts leave keys out, or share some");
      }
      next = range.last + 1;
    }
    if (parts.empty() || parts.back()->range.last < target_.range.last) {
      return Contradiction("its parts leave keys out");
    }
    return parts;
  }

  absl::Status Take(const CutPart& part) {
    SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<PartReader> reader,
                            PartReader::Open(folder_, manifest_, part));
    SERAPH_RETURN_IF_ERROR(TakeHead(reader->head(), part));
    const LazySums from{reader->head().log_decay, reader->head().shrink};
    PartBlock block;
    while (true) {
      SERAPH_ASSIGN_OR_RETURN(const bool more, reader->Next(&block));
      if (!more) return absl::OkStatus();
      KeepRange(&block);
      MoveRecords(from, &block);
      SERAPH_RETURN_IF_ERROR(
          result_.store->RestoreRows(block.keys, block.cells));
      rows_ += block.keys.size();
    }
  }

  absl::Status TakeHead(const PartHead& head, const CutPart& part) {
    const std::string& file = part.files.back().name;
    if (head.row_cells != result_.store->rule().row_cells()) {
      return Contradiction(absl::StrCat(file, " has rows of ", head.row_cells,
                                        " cells, not ",
                                        result_.store->rule().row_cells()));
    }
    absl::StatusOr<PartitionCut> state = DecodeCutState(head.state);
    if (!state.ok()) {
      return Contradiction(absl::StrCat(file, ": ", state.status().message()));
    }
    const LazySums sums{head.log_decay, head.shrink};
    PartitionCut& cut = result_.cut;
    if (is_first_) cut.sums = sums;
    is_first_ = false;
    if (target_.bsp && sums != cut.sums) {
      return Contradiction(
          absl::StrCat(file, " has other sums of lazy terms than the others"));
    }
    if (target_.is_ledger && part.partition == 0) {
      if (state->ranks.size() != cut.ranks.size()) {
        return Contradiction(
            absl::StrCat(file, " has a ledger of other ranks"));
      }
      for (size_t rank = 0; rank < cut.ranks.size(); ++rank) {
        state->ranks[rank].clock = cut.ranks[rank].clock;
        cut.ranks[rank] = std::move(state->ranks[rank]);
      }
    }
    if (target_.range.Contains(part.range.first)) {
      cut.skipped_rows += state->skipped_rows;
    }
    for (size_t i = 0; i < state->sightings.keys.size(); ++i) {
      const Key key = state->sightings.keys[i];
      if (!part.range.Contains(key) ||
          (!cut.sightings.keys.empty() && key <= cut.sightings.keys.back())) {
        return Contradiction(
            absl::StrCat(file, " counts pushes of keys that cannot be"));
      }
      if (!target_.range.Contains(key)) continue;
      cut.sightings.keys.push_back(key);
      cut.sightings.counts.push_back(state->sightings.counts[i]);
    }
    for (const auto& [session, number] : state->sessions) {
      uint64_t& last = cut.sessions[session];
      last = std::max(last, number);
    }
    return absl::OkStatus();
  }

  // Removes the rows outside of the target's range.
  void KeepRange(PartBlock* block) const {
    const size_t row_cells = result_.store->rule().row_cells();
    size_t kept = 0;
    for (size_t i = 0; i < block->keys.size(); ++i) {
      if (!target_.range.Contains(block->keys[i])) continue;
      if (kept != i) {
        block->keys[kept] = block->keys[i];
        std::copy_n(block->cells.data() + i * row_cells, row_cells,
                    block->cells.data() + kept * row_cells);
      }
      ++kept;
    }
    block->keys.resize(kept);
    block->cells.resize(kept * row_cells);
  }

  void MoveRecords(const LazySums& from, PartBlock* block) const {
    if (from == result_.cut.sums) return;
    const UpdateRule& rule = result_.store->rule();
    for (size_t i = 0; i < block->keys.size(); ++i) {
      rule.Rebase(from, result_.cut.sums,
                  block->cells.data() + i * rule.row_cells());
    }
  }

  BlobFolder* const folder_;
  const CheckpointManifest& manifest_;
  const RestoreTarget& target_;
  RestoredPartition result_;
  bool is_first_ = true;
  uint64_t rows_ = 0;  // That were restored.
};

}  // namespace

absl::StatusOr<RestoredPartition> RestorePartition(
    BlobFolder* folder, const CheckpointManifest& manifest,
    const RestoreTarget& target) {
  return Restorer(folder, manifest, target).Run();
}

}  // namespace seraph
