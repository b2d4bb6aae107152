// Between the protocol's messages and the plain structs: nodes, clocks and
// placements. The contract is that of table_codec.h.
#ifndef SERAPH_COMMON_WIRE_CLUSTER_CODEC_H_
#define SERAPH_COMMON_WIRE_CLUSTER_CODEC_H_

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/cluster/node.h"
#include "common/cluster/partition_placement.h"
#include "proto/types.pb.h"

namespace seraph {

void ToProto(Clock clock, v1::Clock* message);
Clock FromProto(const v1::Clock& message);

// Errors: InvalidArgument without a name, address, role or incarnation.
void ToProto(const Node& node, v1::Node* message);
absl::StatusOr<Node> FromProto(const v1::Node& message);

// Errors: InvalidArgument for an empty key range, epoch 0, or a primary that
// is no server.
void ToProto(const PartitionPlacement& placement,
             v1::PartitionPlacement* message);
absl::StatusOr<PartitionPlacement> FromProto(
    const v1::PartitionPlacement& message);

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_CLUSTER_CODEC_H_
