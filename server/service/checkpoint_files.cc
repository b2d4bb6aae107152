#include "server/service/checkpoint_files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/io/posix_blob_folder.h"
#include "common/status/status_macros.h"
#include "server/checkpoint/restore_partition.h"

namespace seraph {

namespace {

// Whatever keeps a file of a checkpoint from being read, the checkpoint before
// it is used. What is not of the files stays: no memory, or a restore that was
// called off.
absl::Status OfTheCheckpoint(const absl::Status& status) {
  if (absl::IsDataLoss(status) || absl::IsNotFound(status) ||
      absl::IsResourceExhausted(status) || absl::IsCancelled(status) ||
      absl::IsAborted(status)) {
    return status;
  }
  return absl::DataLossError(absl::StrCat(
      status.message(), "; the checkpoint cannot be used, an older one is"));
}

}  // namespace

CheckpointFiles::CheckpointFiles(OpenFolder open)
    : open_(open != nullptr ? std::move(open) : [](const std::string& path) {
        return std::make_unique<PosixBlobFolder>(path);
      }) {}

absl::StatusOr<std::unique_ptr<PartitionState>> CheckpointFiles::Restore(
    const std::string& directory, const std::string& manifest,
    const PartitionOptions& options, const KeyRange& range) {
  const std::unique_ptr<BlobFolder> folder = open_(directory);
  const absl::StatusOr<CheckpointManifest> read =
      CheckpointFolder(folder.get()).Read(manifest);
  if (!read.ok()) return OfTheCheckpoint(read.status());
  RestoreTarget target;
  target.table = options.table_index;
  target.spec = options.table;
  target.range = range;
  target.is_ledger = options.is_ledger;
  target.bsp = options.sync.spec.mode == SyncMode::kBsp;
  absl::StatusOr<RestoredPartition> restored =
      RestorePartition(folder.get(), *read, target);
  if (!restored.ok()) return OfTheCheckpoint(restored.status());
  return std::make_unique<PartitionState>(options, std::move(restored->store),
                                          restored->cut);
}

Partition::Since CheckpointFiles::SinceOf(const JobName& job,
                                          ServedJob::Place place,
                                          uint64_t cut) {
  MutexLock lock(&mu_);
  const auto found = chains_.find({job.id, job.generation, place});
  if (found == chains_.end() || found->second == nullptr) return {};
  const PartChain::Since since = found->second->SinceOf(cut);
  return {.layout = since.layout, .version = since.version};
}

absl::StatusOr<CutPart> CheckpointFiles::Write(const std::string& directory,
                                               const JobName& job, uint64_t cut,
                                               uint64_t base,
                                               PartitionCopy copy) {
  const ChainKey key{job.id, job.generation, {copy.table, copy.partition}};
  std::unique_ptr<PartChain> chain;
  {
    MutexLock lock(&mu_);
    chain = std::move(chains_[key]);
  }
  if (chain == nullptr) chain = std::make_unique<PartChain>();
  const std::unique_ptr<BlobFolder> folder = open_(directory);
  absl::StatusOr<CutPart> part = chain->Write(
      folder.get(),
      {.job_id = job.id, .generation = job.generation, .cut = cut}, copy, base);
  {
    MutexLock lock(&mu_);
    const auto place = chains_.find(key);
    // Else it was forgotten meanwhile.
    if (place != chains_.end()) place->second = std::move(chain);
  }
  return part;
}

void CheckpointFiles::Forget(const JobName& job) {
  MutexLock lock(&mu_);
  for (auto it = chains_.lower_bound({job.id, 0, {0, 0}});
       it != chains_.end() && std::get<0>(it->first) == job.id &&
       std::get<1>(it->first) <= job.generation;) {
    it = chains_.erase(it);
  }
}

}  // namespace seraph
