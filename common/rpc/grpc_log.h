// What gRPC logs, as lines of our own log.
#ifndef SERAPH_COMMON_RPC_GRPC_LOG_H_
#define SERAPH_COMMON_RPC_GRPC_LOG_H_

namespace seraph {

// From now on gRPC's lines are events "grpc.log place=FILE:LINE message=...":
// its errors as warnings (whoever made the call decides what they mean), all
// else, which it gives only where GRPC_VERBOSITY asks for it, as debug.
void SendGrpcLogsToOurs();

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_GRPC_LOG_H_
