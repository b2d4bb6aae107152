// Models between the partitions of a job and a model file.
#ifndef SERAPH_SCHEDULER_IO_MODEL_TRANSFER_H_
#define SERAPH_SCHEDULER_IO_MODEL_TRANSFER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/cluster/partition_placement.h"
#include "common/model_file/model_file_writer.h"
#include "common/model_file/model_metadata.h"
#include "scheduler/io/row_stream.h"
#include "scheduler/job/job_plan.h"

namespace seraph {

// The partitions of a job, wherever they are. Calls wait.
class PartitionRows {
 public:
  virtual ~PartitionRows() = default;

  // All rows of a partition, original keys ascending. It is opened by the first
  // Next().
  virtual std::unique_ptr<RowSource> Read(
      const PartitionPlacement& placement) = 0;

  // Sets rows; original keys, in any order.
  virtual absl::Status Write(const PartitionPlacement& placement,
                             const Rows& rows) = 0;
};

// What a model of the job says about itself.
ModelMetadata MetadataOf(const JobPlan& plan);

// How much is done, 0 to 1; an error ends the transfer with it.
using TransferProgress = std::function<absl::Status(double fraction)>;

// Writes all rows of the job's tables, in the order of their original keys, to
// the job's model file. The caller finishes the writer, which gives the file
// its name, or destroys it, which leaves nothing behind.
//
// Memory: one piece of each partition of a scrambled table, whose partitions
// are merged; of other tables, one partition's.
// Errors: those of the partitions and of the writer, which name the path.
absl::StatusOr<std::unique_ptr<ModelFileWriter>> ExportRows(
    const JobPlan& plan, const std::string& path, PartitionRows* partitions,
    const TransferProgress& progress);

// Sets the rows of the model at `path`, a file or a checkpoint (see
// CheckpointModel), in the job's partitions.
//
// Errors: as ModelFileReader and CheckpointModel; InvalidArgument, naming the
// file, if its tables are not those of the job; those of the partitions.
absl::Status LoadRows(const JobPlan& plan, const std::string& path,
                      PartitionRows* partitions,
                      const TransferProgress& progress);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_IO_MODEL_TRANSFER_H_
