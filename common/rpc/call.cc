#include "common/rpc/call.h"

#include <algorithm>

#include "grpc/support/time.h"

namespace seraph {

void SetDeadline(grpc::ClientContext* context, absl::Duration timeout) {
  // A time of the wall clock would move with it.
  context->set_deadline(gpr_time_from_nanos(
      std::max<int64_t>(0, absl::ToInt64Nanoseconds(timeout)), GPR_TIMESPAN));
}

}  // namespace seraph
