#include "common/rpc/call.h"

#include "grpc/support/time.h"

namespace seraph {

void SetDeadline(grpc::ClientContext* context, absl::Duration timeout) {
  // A time of the wall clock would move with it.
  context->set_deadline(
      gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
}

namespace rpc_internal {

absl::Status StatusOfCall(const grpc::Status& status, bool overdue) {
  if (overdue && status.error_code() == grpc::StatusCode::CANCELLED) {
    return absl::DeadlineExceededError("no answer in time");
  }
  return FromGrpcStatus(status);
}

}  // namespace rpc_internal
}  // namespace seraph
