// proto/replicas.proto's orders and states <-> common/cluster/replica.h.
#ifndef SERAPH_COMMON_WIRE_REPLICA_CODEC_H_
#define SERAPH_COMMON_WIRE_REPLICA_CODEC_H_

#include "absl/status/statusor.h"
#include "common/cluster/replica.h"
#include "proto/replicas.pb.h"

namespace seraph {

void ToProto(const LogPosition& position, v1::LogPosition* message);
LogPosition FromProto(const v1::LogPosition& message);

v1::ReplicaDuty ToProto(ReplicaDuty duty);

// Errors: InvalidArgument for a duty that is none.
absl::StatusOr<ReplicaDuty> FromProto(v1::ReplicaDuty duty);

void ToProto(const ReplicaOrder& order, v1::ReplicaOrder* message);

// Errors: InvalidArgument for an epoch of 0, a duty that is none, and a node
// that is no server.
absl::StatusOr<ReplicaOrder> FromProto(const v1::ReplicaOrder& message);

void ToProto(const ReplicaState& state, v1::ReplicaState* message);
absl::StatusOr<ReplicaState> FromProto(const v1::ReplicaState& message);

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_REPLICA_CODEC_H_
