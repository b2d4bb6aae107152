#include "server/service/checkpoint_files.h"

#include <utility>

#include "common/checkpoint/checkpoint_folder.h"
#include "common/io/posix_blob_folder.h"
#include "common/status/status_macros.h"
#include "server/checkpoint/restore_partition.h"

namespace seraph {

CheckpointFiles::CheckpointFiles(OpenFolder open)
    : open_(open != nullptr ? std::move(open) : [](const std::string& path) {
        return std::make_unique<PosixBlobFolder>(path);
      }) {}

absl::StatusOr<std::unique_ptr<PartitionState>> CheckpointFiles::Restore(
    const std::string& directory, const std::string& manifest,
    const PartitionOptions& options, const KeyRange& range) {
  const std::unique_ptr<BlobFolder> folder = open_(directory);
  SERAPH_ASSIGN_OR_RETURN(const CheckpointManifest read,
                          CheckpointFolder(folder.get()).Read(manifest));
  RestoreTarget target;
  target.table = options.table_index;
  target.spec = options.table;
  target.range = range;
  target.is_ledger = options.is_ledger;
  target.bsp = options.sync.spec.mode == SyncMode::kBsp;
  SERAPH_ASSIGN_OR_RETURN(RestoredPartition restored,
                          RestorePartition(folder.get(), read, target));
  return std::make_unique<PartitionState>(options, std::move(restored.store),
                                          restored.cut);
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
