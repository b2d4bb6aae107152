#include "tests/sim/cluster_checks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/table/partitioning.h"
#include "server/checkpoint/restore_partition.h"
#include "tests/sim/cluster_job.h"
#include "tests/sim/witness.h"

namespace seraph::testing {
namespace {

// All rows of a table in a checkpoint, by original keys.
absl::StatusOr<std::map<Key, std::vector<float>>> RowsIn(
    BlobFolder* folder, const CheckpointManifest& manifest, uint32_t table,
    bool bsp) {
  RestoreTarget target;
  target.table = table;
  target.spec = manifest.tables[table];
  target.spec.partitions = 1;
  target.range = Partitioning(target.spec).PartitionRange(0);
  target.bsp = bsp;
  auto restored = RestorePartition(folder, manifest, target);
  if (!restored.ok()) return restored.status();
  std::map<Key, std::vector<float>> rows;
  const auto cursor = restored->store->Cursor();
  const size_t width = target.spec.width;
  while (true) {
    std::vector<Key> keys;
    std::vector<float> values;
    cursor->Next(100, restored->cut.sums, &keys, &values);
    if (keys.empty()) return rows;
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[keys[i]].assign(values.begin() + i * width,
                           values.begin() + (i + 1) * width);
    }
  }
}

}  // namespace

void ClusterChecks::Report(std::string problem) {
  witness_.Report(std::move(problem));
}

void ClusterChecks::ShareTaken(uint64_t term, const JobRef& job, uint32_t rank,
                               uint32_t epoch, bool saw_later) {
  shares_[{term, job.generation, epoch}].insert(rank);
  if (saw_later && decided_.count(epoch) == 0) {
    Report(absl::StrCat("the share of rank ", rank, " of epoch ", epoch,
                        " is taken, and was computed from parameters that had "
                        "moved on"));
  }
}

void ClusterChecks::Decided(const JobRef& job, uint32_t epoch, bool stop) {
  const auto [known, is_first] = decided_.emplace(epoch, stop);
  if (!is_first) {
    if (known->second == stop) return;
    return Report(absl::StrCat("of the end of epoch ", epoch,
                               " two ranks are told different decisions"));
  }
  // What was decided before its cut a generation only repeats.
  const auto begun = begun_.find(job.generation);
  const bool repeats = begun != begun_.end() && epoch < begun->second;
  for (const auto& [of, ranks] : shares_) {
    const auto& [term, generation, shared_epoch] = of;
    const bool counts = generation == job.generation ||
                        (repeats && generation < job.generation);
    if (counts && shared_epoch == epoch && ranks.size() == job_.spec.ranks) {
      return;
    }
  }
  Report(absl::StrCat("a rank is let go on from the end of epoch ", epoch,
                      " before all have shared"));
}

void ClusterChecks::CutWritten(BlobFolder* folder, const std::string& manifest,
                               const CheckpointManifest& written) {
  cuts_[manifest] = written.clocks;
  CheckpointFolder checkpoints(folder);
  const auto read = checkpoints.Read(manifest);
  if (!read.ok()) {
    return Report(absl::StrCat("a manifest that was just written: ",
                               read.status().ToString()));
  }
  const bool bsp = job_.spec.sync.mode == SyncMode::kBsp;
  for (uint32_t table = 0; table < job_.tables.size(); ++table) {
    const auto rows = RowsIn(folder, *read, table, bsp);
    if (!rows.ok()) {
      Report(absl::StrCat("a checkpoint that was just written: ",
                          rows.status().ToString()));
    } else if (job_.is_witness) {
      witness_.Cut(written.generation, manifest, written.clocks, table, *rows);
    }
  }
}

void ClusterChecks::BeginsFrom(uint64_t generation,
                               const std::optional<CutName>& cut) {
  const auto [begun, is_new] = begun_.emplace(generation, 0);
  if (!is_new) return;
  const std::string name = cut.has_value() ? cut->manifest : "";
  if (!damaged_ && name != newest_.value_or("")) {
    Report(absl::StrCat("generation ", generation, " begins from '", name,
                        "', and the newest checkpoint is '",
                        newest_.value_or(""), "'"));
  }
  // What was decided behind it is decided again.
  uint32_t epochs = 0;
  if (const auto at = cuts_.find(name); at != cuts_.end()) {
    epochs = std::min_element(at->second.begin(), at->second.end())->epoch;
  }
  begun->second = epochs;
  decided_.erase(decided_.lower_bound(epochs), decided_.end());
}

void ClusterChecks::CheckFolder(BlobFolder* folder) {
  if (damaged_) return;
  CheckpointFolder checkpoints(folder);
  const auto names = checkpoints.List();
  if (!names.ok()) return Report(names.status().ToString());
  for (const std::string& name : *names) {
    const auto manifest = checkpoints.Read(name);
    const absl::Status whole =
        manifest.ok() ? checkpoints.Verify(*manifest) : manifest.status();
    if (!whole.ok()) {
      Report(absl::StrCat("after a crash: ", whole.ToString()));
    }
  }
  if (newest_.has_value() &&
      std::find(names->begin(), names->end(), *newest_) == names->end()) {
    Report(absl::StrCat("after a crash: ", *newest_, " is gone"));
  }
}

}  // namespace seraph::testing
