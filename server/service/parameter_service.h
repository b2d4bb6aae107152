// The Parameters service: decodes, calls, encodes.
#ifndef SERAPH_SERVER_SERVICE_PARAMETER_SERVICE_H_
#define SERAPH_SERVER_SERVICE_PARAMETER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

#include "common/shm/shared_room.h"
#include "proto/parameters.grpc.pb.h"
#include "server/service/function_calls.h"
#include "server/service/job_directory.h"
#include "server/service/open_streams.h"
#include "server/service/parameter_calls.h"
#include "server/service/replica_calls.h"

namespace seraph {

// What touches rows as bytes, all others as messages.
using RawParameters = v1::Parameters::WithRawCallbackMethod_Exchange<
    v1::Parameters::WithRawCallbackMethod_Pull<
        v1::Parameters::WithRawCallbackMethod_Push<
            v1::Parameters::WithRawCallbackMethod_PushPull<
                v1::Parameters::WithCallbackMethod_Call<
                    v1::Parameters::WithCallbackMethod_BeginAttempt<
                        v1::Parameters::WithCallbackMethod_AssignPartitions<
                            v1::Parameters::WithCallbackMethod_LoadRows<
                                v1::Parameters::WithCallbackMethod_ExportPartition<
                                    v1::Parameters::
                                        WithCallbackMethod_ReadLedger<
                                            v1::Parameters::
                                                WithCallbackMethod_DropJob<
                                                    v1::Parameters::
                                                        WithCallbackMethod_DescribeServer<
                                                            v1::Parameters::
                                                                Service>>>>>>>>>>>>;

// proto/parameters.proto documents every method. Orders of the scheduler name
// the incarnation that they are for, and are refused by any other.
//
// Threads: gRPC's.
class ParameterService final : public RawParameters {
 public:
  // All must outlive the server that this is registered with. `room`: for
  // messages in memory that clients share with us; null: none are taken.
  ParameterService(JobDirectory* jobs, ParameterCalls* calls,
                   FunctionCalls* functions, ReplicaCalls* orders,
                   OpenStreams* streams, SharedRoom* room)
      : jobs_(*jobs),
        calls_(*calls),
        functions_(*functions),
        orders_(*orders),
        streams_(*streams),
        room_(room) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Exchange(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* PushPull(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context,
                                 const v1::CallRequest* request,
                                 v1::CallReply* reply) override;
  grpc::ServerUnaryReactor* BeginAttempt(grpc::CallbackServerContext* context,
                                         const v1::BeginAttemptRequest* request,
                                         v1::BeginAttemptReply* reply) override;
  grpc::ServerUnaryReactor* AssignPartitions(
      grpc::CallbackServerContext* context,
      const v1::AssignPartitionsRequest* request,
      v1::AssignPartitionsReply* reply) override;
  grpc::ServerUnaryReactor* LoadRows(grpc::CallbackServerContext* context,
                                     const v1::LoadRowsRequest* request,
                                     v1::LoadRowsReply* reply) override;
  grpc::ServerWriteReactor<v1::RowChunk>* ExportPartition(
      grpc::CallbackServerContext* context,
      const v1::ExportPartitionRequest* request) override;
  grpc::ServerUnaryReactor* ReadLedger(grpc::CallbackServerContext* context,
                                       const v1::ReadLedgerRequest* request,
                                       v1::ReadLedgerReply* reply) override;
  grpc::ServerUnaryReactor* DropJob(grpc::CallbackServerContext* context,
                                    const v1::DropJobRequest* request,
                                    v1::DropJobReply* reply) override;
  grpc::ServerUnaryReactor* DescribeServer(
      grpc::CallbackServerContext* context,
      const v1::DescribeServerRequest* request,
      v1::DescribeServerReply* reply) override;

 private:
  absl::Status CheckIncarnation(uint64_t incarnation) const;
  // The replica a call speaks of, and the job that keeps it alive.
  absl::StatusOr<PartitionActor*> FindPartition(
      const v1::JobRef& job, uint64_t incarnation, uint32_t table,
      uint32_t partition, std::shared_ptr<const ServedJob>* keep) const;

  JobDirectory& jobs_;
  ParameterCalls& calls_;
  FunctionCalls& functions_;
  ReplicaCalls& orders_;
  OpenStreams& streams_;
  SharedRoom* const room_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_PARAMETER_SERVICE_H_
