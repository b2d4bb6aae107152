// The state of a partition at one log position, as bytes: what a recruit takes
// instead of the log up to there.
#ifndef SERAPH_SERVER_CORE_PARTITION_SNAPSHOT_H_
#define SERAPH_SERVER_CORE_PARTITION_SNAPSHOT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/cluster/replica.h"
#include "server/core/partition_state.h"

namespace seraph {

struct Snapshot {
  LogPosition position;
  std::string bytes;
};

// Everything that the log prefix determines, rows with their slots included.
// Equal states give equal bytes, whatever way they came about.
//
// Layout, little-endian: "SRPHSNP1"; the fields of FoldedLog in the order of
// the code, each list with its length (u64) in front; the rows ascending by
// mixed key: their number, their cells (u32), the keys, the cells; and XXH3 of
// all that. It travels between servers of one version; it is no file.
Snapshot EncodeSnapshot(const PartitionState& state);

// The state again; `store` is new, of the same table and range, and gets the
// rows. Errors: DataLoss for anything but what EncodeSnapshot gives for such a
// partition; sizes are checked before memory is taken.
absl::StatusOr<std::unique_ptr<PartitionState>> DecodeSnapshot(
    absl::string_view bytes, const PartitionOptions& options,
    std::unique_ptr<RowStore> store);

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PARTITION_SNAPSHOT_H_
