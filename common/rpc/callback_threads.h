// The threads on which gRPC runs callbacks.
#ifndef SERAPH_COMMON_RPC_CALLBACK_THREADS_H_
#define SERAPH_COMMON_RPC_CALLBACK_THREADS_H_

namespace seraph {

// Keeps gRPC's callback threads until the process ends. MakeChannel and
// RpcServer::Start call it; any other code that makes channels or servers
// should, before.
//
// gRPC 1.51 stops them when the last channel and server are gone. A client's
// context holds its channel, and is as a rule freed in the callback that ends
// the call: if that channel is the last, its threads are joined by one of
// themselves, their queue is freed below it, and the process aborts
// ("assertion failed: prior > 0").
//
// Threads: any. Costs nothing after the first time.
void KeepCallbackThreads();

}  // namespace seraph

#endif  // SERAPH_COMMON_RPC_CALLBACK_THREADS_H_
