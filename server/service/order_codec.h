// What a scheduler's orders say of a job, out of the protocol's messages.
#ifndef SERAPH_SERVER_SERVICE_ORDER_CODEC_H_
#define SERAPH_SERVER_SERVICE_ORDER_CODEC_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/cluster/replica.h"
#include "google/protobuf/repeated_field.h"
#include "proto/replicas.pb.h"
#include "server/service/served_job.h"

namespace seraph {

JobName JobNameOf(const v1::JobRef& job);

// Errors: InvalidArgument, as common/wire's codecs.
absl::StatusOr<JobSetup> SetupFromProto(const v1::JobTables& message);

template <typename T>
using Repeated = google::protobuf::RepeatedPtrField<T>;

// Errors: InvalidArgument, as common/wire/replica_codec.h.
absl::StatusOr<std::vector<ReplicaOrder>> OrdersFromProto(
    const Repeated<v1::ReplicaOrder>& messages);

std::vector<Clock> ClocksFromProto(const Repeated<v1::Clock>& messages);
void ClocksToProto(const std::vector<Clock>& clocks,
                   Repeated<v1::Clock>* messages);

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_ORDER_CODEC_H_
