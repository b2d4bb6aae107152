#include "server/service/replica_service.h"

#include "common/rpc/byte_buffer.h"
#include "common/rpc/unary_call.h"
#include "server/service/deliver_stream.h"

namespace seraph {
namespace {

// Hands a request to `calls` and its answer to gRPC.
template <typename Request, typename Reply, typename Method>
grpc::ServerUnaryReactor* Start(ReplicaCalls* calls, Method method,
                                const Request& request, Reply* reply) {
  auto* call = new UnaryCall<Reply>(reply);
  (calls->*method)(request, call->Answer());
  return call;
}

}  // namespace

grpc::ServerUnaryReactor* ReplicaService::Configure(
    grpc::CallbackServerContext* context, const v1::ConfigureRequest* request,
    v1::ConfigureReply* reply) {
  return Start(&calls_, &ReplicaCalls::Configure, *request, reply);
}

grpc::ServerUnaryReactor* ReplicaService::Recruit(
    grpc::CallbackServerContext* context, const v1::RecruitRequest* request,
    v1::RecruitReply* reply) {
  return Start(&calls_, &ReplicaCalls::Recruit, *request, reply);
}

grpc::ServerUnaryReactor* ReplicaService::HandOver(
    grpc::CallbackServerContext* context, const v1::HandOverRequest* request,
    v1::HandOverReply* reply) {
  return Start(&calls_, &ReplicaCalls::HandOver, *request, reply);
}

grpc::ServerUnaryReactor* ReplicaService::BeginCut(
    grpc::CallbackServerContext* context, const v1::BeginCutRequest* request,
    v1::BeginCutReply* reply) {
  return Start(&calls_, &ReplicaCalls::BeginCut, *request, reply);
}

grpc::ServerUnaryReactor* ReplicaService::TakeCut(
    grpc::CallbackServerContext* context, const v1::TakeCutRequest* request,
    v1::TakeCutReply* reply) {
  return Start(&calls_, &ReplicaCalls::TakeCut, *request, reply);
}

grpc::ServerUnaryReactor* ReplicaService::WriteCut(
    grpc::CallbackServerContext* context, const v1::WriteCutRequest* request,
    v1::WriteCutReply* reply) {
  return Start(&calls_, &ReplicaCalls::WriteCut, *request, reply);
}

grpc::ServerUnaryReactor* ReplicaService::DropCut(
    grpc::CallbackServerContext* context, const v1::DropCutRequest* request,
    v1::DropCutReply* reply) {
  return Start(&calls_, &ReplicaCalls::DropCut, *request, reply);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* ReplicaService::Deliver(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* reply) {
  *reply = ToByteBuffer(MessageWriter());  // An empty DeliverReply.
  return new DeliverStream(&calls_, &streams_, room_, waiting_bytes_);
}

}  // namespace seraph
