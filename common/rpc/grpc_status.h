// absl::Status <-> grpc::Status, at the edge and nowhere else.
//
// Code, message, reason, values and retry delay (common/status/errors.h)
// survive the way there and back. They travel as a serialised
// google.rpc.Status with ErrorInfo (domain "seraph") and RetryInfo, which
// clients in every language of gRPC can read.
#ifndef SERAPH_COMMON_RPC_GRPC_STATUS_H_
#define SERAPH_COMMON_RPC_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace seraph {

// A peer refuses trailers above 8 KiB with an error of its own, so that values
// of more than 2 KiB in all are left out, and a long message is cut to what
// fits and says so. Bytes that are not UTF-8 become '?'.
grpc::Status ToGrpcStatus(const absl::Status& status);

// Details that cannot be parsed, or are of other kinds, are left out.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_GRPC_STATUS_H_
