// The files of checkpoints, as a server reads and writes them.
#ifndef SERAPH_SERVER_SERVICE_CUT_FILES_H_
#define SERAPH_SERVER_SERVICE_CUT_FILES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/checkpoint/cut_part.h"
#include "server/core/partition.h"
#include "server/core/partition_copy.h"
#include "server/service/served_job.h"

namespace seraph {

// Threads: every method may be called from any thread that may wait for a disk.
class CutFiles {
 public:
  virtual ~CutFiles() = default;

  // The state of a partition at a cut, out of whichever parts hold rows of its
  // range. Errors: DataLoss with the name of the file that is damaged;
  // NotFound, PermissionDenied, ... of a file.
  virtual absl::StatusOr<std::unique_ptr<PartitionState>> Restore(
      const std::string& directory, const std::string& manifest,
      const PartitionOptions& options, const KeyRange& range) = 0;

  // What an earlier copy of the partition, written for `cut`, was of, so that
  // TakeCut copies what changed after it alone; {0, 0}: copy all.
  virtual Partition::Since SinceOf(const JobName& job, ServedJob::Place place,
                                   uint64_t cut) = 0;

  // Writes a copy for `cut`; on disk when it returns. Blocks that it does not
  // hold are those of the cut `base`. Errors: with the file's name.
  virtual absl::StatusOr<CutPart> Write(const std::string& directory,
                                        const JobName& job, uint64_t cut,
                                        uint64_t base, PartitionCopy copy) = 0;

  // The job is not here any more.
  virtual void Forget(const JobName& job) = 0;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_CUT_FILES_H_
