// The server's own bytes in the head of a part: all of a partition at a cut
// that is neither row, sum nor clock.
#ifndef SERAPH_SERVER_CHECKPOINT_CUT_STATE_H_
#define SERAPH_SERVER_CHECKPOINT_CUT_STATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/core/partition_copy.h"

namespace seraph {

std::string EncodeCutState(const PartitionCut& cut);

// Sets everything but sums and clocks.
// Errors: InvalidArgument; it does not name the file.
absl::StatusOr<PartitionCut> DecodeCutState(absl::string_view bytes);

}  // namespace seraph

#endif  // SERAPH_SERVER_CHECKPOINT_CUT_STATE_H_
