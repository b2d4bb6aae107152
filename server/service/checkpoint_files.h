// Checkpoints in folders.
#ifndef SERAPH_SERVER_SERVICE_CHECKPOINT_FILES_H_
#define SERAPH_SERVER_SERVICE_CHECKPOINT_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "common/concurrent/mutex.h"
#include "common/io/blob_folder.h"
#include "server/checkpoint/part_chain.h"
#include "server/service/cut_files.h"

namespace seraph {

// Remembers, for each replica that has written a cut, what its files hold.
class CheckpointFiles final : public CutFiles {
 public:
  using OpenFolder =
      std::function<std::unique_ptr<BlobFolder>(const std::string& path)>;

  // By default folders of the file system.
  explicit CheckpointFiles(OpenFolder open = nullptr);

  absl::StatusOr<std::unique_ptr<PartitionState>> Restore(
      const std::string& directory, const std::string& manifest,
      const PartitionOptions& options, const KeyRange& range) override;
  Partition::Since SinceOf(const JobName& job, ServedJob::Place place,
                           uint64_t cut) override ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<CutPart> Write(const std::string& directory,
                                const JobName& job, uint64_t cut, uint64_t base,
                                PartitionCopy copy) override
      ABSL_LOCKS_EXCLUDED(mu_);
  void Forget(const JobName& job) override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Job, generation, place.
  using ChainKey = std::tuple<std::string, uint64_t, ServedJob::Place>;

  const OpenFolder open_;

  Mutex mu_;
  // Null while the place writes.
  std::map<ChainKey, std::unique_ptr<PartChain>> chains_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_CHECKPOINT_FILES_H_
