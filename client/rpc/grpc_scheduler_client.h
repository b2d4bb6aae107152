// A scheduler over gRPC.
#ifndef SERAPH_CLIENT_RPC_GRPC_SCHEDULER_CLIENT_H_
#define SERAPH_CLIENT_RPC_GRPC_SCHEDULER_CLIENT_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "client/base/interrupt.h"
#include "client/rpc/scheduler_client.h"

namespace seraph {

// `address`: one, or those of several schedulers of which one leads, separated
// by commas. `timeout` is that of every call that is no stream and does not
// wait for a checkpoint; streams are as long as
// what they tell of, and end with Unavailable when the connection breaks.
// `interrupt` must outlive the client. Connects at the first call.
std::unique_ptr<SchedulerClient> MakeGrpcSchedulerClient(
    const std::string& address, absl::Duration timeout, Interrupt* interrupt);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RPC_GRPC_SCHEDULER_CLIENT_H_
