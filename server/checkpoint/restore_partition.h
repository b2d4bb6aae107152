// A partition out of a checkpoint.
#ifndef SERAPH_SERVER_CHECKPOINT_RESTORE_PARTITION_H_
#define SERAPH_SERVER_CHECKPOINT_RESTORE_PARTITION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/key.h"
#include "common/checkpoint/manifest.h"
#include "common/io/blob_folder.h"
#include "common/table/table_spec.h"
#include "server/core/partition_copy.h"
#include "server/store/row_store.h"

namespace seraph {

struct RestoreTarget {
  uint32_t table = 0;  // Index.
  TableSpec spec;      // That of the checkpoint; `partitions` may be another.
  KeyRange range;      // Any range of the table's mixed keys.
  bool is_ledger = false;  // The job's first partition.
  bool bsp = true;         // The partitions' sums are equal.
};

struct RestoredPartition {
  std::unique_ptr<RowStore> store;
  PartitionCut cut;
};

// Takes the rows of the range from whichever parts overlap it.
//
// Where the parts' sums of the lazy terms differ (ssp and asp: the partitions
// take the entries in different orders), the result has those of the part with
// the least keys, and the records of the others' rows are moved so that what is
// pending for each row stays what it was: LazyTerms::Rebase. A skipped row is
// counted where its part's first key went; of a session the highest number
// that a part has taken counts.
//
// Errors: as PartReader; FailedPrecondition for a table that is not that of the
// checkpoint; DataLoss for parts that do not cover the range, or contradict
// the manifest; ResourceExhausted.
// Threads: any; the folder is only read.
absl::StatusOr<RestoredPartition> RestorePartition(
    BlobFolder* folder, const CheckpointManifest& manifest,
    const RestoreTarget& target);

}  // namespace seraph

#endif  // SERAPH_SERVER_CHECKPOINT_RESTORE_PARTITION_H_
