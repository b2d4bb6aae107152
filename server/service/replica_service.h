// The Replicas service: decodes, calls, encodes.
#ifndef SERAPH_SERVER_SERVICE_REPLICA_SERVICE_H_
#define SERAPH_SERVER_SERVICE_REPLICA_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>

#include "common/shm/shared_room.h"
#include "proto/replicas.grpc.pb.h"
#include "server/service/open_streams.h"
#include "server/service/replica_calls.h"

namespace seraph {

// Deliver as bytes, all others as messages.
using RawReplicas = v1::Replicas::WithRawCallbackMethod_Deliver<
    v1::Replicas::WithCallbackMethod_Configure<
        v1::Replicas::WithCallbackMethod_Recruit<
            v1::Replicas::WithCallbackMethod_HandOver<
                v1::Replicas::WithCallbackMethod_BeginCut<
                    v1::Replicas::WithCallbackMethod_TakeCut<
                        v1::Replicas::WithCallbackMethod_WriteCut<
                            v1::Replicas::WithCallbackMethod_DropCut<
                                v1::Replicas::Service>>>>>>>>;

// proto/replicas.proto documents every method. Threads: gRPC's.
class ReplicaService final : public RawReplicas {
 public:
  // All must outlive the server that this is registered with. `room`: for
  // messages in memory that peers share with us; null: none are taken. Of
  // messages that wait for their replicas each stream has `waiting_bytes`.
  ReplicaService(ReplicaCalls* calls, OpenStreams* streams, SharedRoom* room,
                 size_t waiting_bytes = size_t{64} << 20)
      : calls_(*calls),
        streams_(*streams),
        room_(room),
        waiting_bytes_(waiting_bytes) {}

  grpc::ServerUnaryReactor* Configure(grpc::CallbackServerContext* context,
                                      const v1::ConfigureRequest* request,
                                      v1::ConfigureReply* reply) override;
  grpc::ServerUnaryReactor* Recruit(grpc::CallbackServerContext* context,
                                    const v1::RecruitRequest* request,
                                    v1::RecruitReply* reply) override;
  grpc::ServerUnaryReactor* HandOver(grpc::CallbackServerContext* context,
                                     const v1::HandOverRequest* request,
                                     v1::HandOverReply* reply) override;
  grpc::ServerUnaryReactor* BeginCut(grpc::CallbackServerContext* context,
                                     const v1::BeginCutRequest* request,
                                     v1::BeginCutReply* reply) override;
  grpc::ServerUnaryReactor* TakeCut(grpc::CallbackServerContext* context,
                                    const v1::TakeCutRequest* request,
                                    v1::TakeCutReply* reply) override;
  grpc::ServerUnaryReactor* WriteCut(grpc::CallbackServerContext* context,
                                     const v1::WriteCutRequest* request,
                                     v1::WriteCutReply* reply) override;
  grpc::ServerUnaryReactor* DropCut(grpc::CallbackServerContext* context,
                                    const v1::DropCutRequest* request,
                                    v1::DropCutReply* reply) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* Deliver(
      grpc::CallbackServerContext* context, grpc::ByteBuffer* reply) override;

 private:
  ReplicaCalls& calls_;
  OpenStreams& streams_;
  SharedRoom* const room_;
  const size_t waiting_bytes_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_REPLICA_SERVICE_H_
