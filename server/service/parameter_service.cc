#include "server/service/parameter_service.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rpc/byte_buffer.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/unary_call.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/exchange_bulk.h"
#include "common/wire/replica_codec.h"
#include "server/service/exchange_stream.h"
#include "server/service/export_stream.h"
#include "server/service/ledger_codec.h"
#include "server/service/order_codec.h"

namespace seraph {
namespace {

grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context,
                                    const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// A call whose request and reply have bulk.
template <typename Request, typename Reply, typename Method>
grpc::ServerUnaryReactor* CallRaw(ParameterCalls* calls, Method method,
                                  const BulkSchema& schema,
                                  grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer& request,
                                  grpc::ByteBuffer* reply) {
  const auto bytes = ToSlices(request);
  if (!bytes.ok()) return FinishNow(context, bytes.status());
  const auto parsed = ParseWithBulk<Request>(*bytes, schema);
  if (!parsed.ok()) return FinishNow(context, parsed.status());
  auto* call = new UnaryCall<grpc::ByteBuffer>(reply);
  (calls->*method)(*parsed, [answer = call->Answer()](
                                absl::StatusOr<WithRows<Reply>> result) {
    if (!result.ok()) return answer(result.status());
    answer(ToByteBuffer(WriteReply(*std::move(result))));
  });
  return call;
}

// A stream that ends before it begins.
class FailedExport final : public grpc::ServerWriteReactor<v1::RowChunk> {
 public:
  explicit FailedExport(const absl::Status& status) {
    Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }
};

template <typename T>
absl::StatusOr<std::vector<T>> Values(const std::string& bytes,
                                      const char* field) {
  if (bytes.size() % sizeof(T) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the field '", field, "' has ", bytes.size(),
                     " bytes, no multiple of ", sizeof(T)));
  }
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void EncodeRank(const RankProgress& progress, uint32_t from_epoch,
                v1::RankLedger* message) {
  message->set_attempt(progress.attempt);
  ToProto(progress.next, message->mutable_clock());
  for (const LedgerRecord& record : progress.ledger) {
    EncodeLedger(record, message->add_records());
  }
  for (size_t e = from_epoch; e < progress.epoch_ends.size(); ++e) {
    EncodeLedger(progress.epoch_ends[e], message->add_epoch_ends());
  }
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
ParameterService::Exchange(grpc::CallbackServerContext* context) {
  return new ExchangeStream(&calls_, &streams_, room_);
}

grpc::ServerUnaryReactor* ParameterService::Pull(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* reply) {
  return CallRaw<v1::PullRequest, v1::PullReply>(
      &calls_, &ParameterCalls::Pull, kPullBulk, context, *request, reply);
}

grpc::ServerUnaryReactor* ParameterService::Push(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* reply) {
  return CallRaw<v1::PushRequest, v1::PushReply>(
      &calls_, &ParameterCalls::Push, kPushBulk, context, *request, reply);
}

grpc::ServerUnaryReactor* ParameterService::PushPull(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* reply) {
  return CallRaw<v1::PushPullRequest, v1::PushPullReply>(
      &calls_, &ParameterCalls::PushPull, kPushPullBulk, context, *request,
      reply);
}

grpc::ServerUnaryReactor* ParameterService::Call(
    grpc::CallbackServerContext* context, const v1::CallRequest* request,
    v1::CallReply* reply) {
  auto* call = new UnaryCall<v1::CallReply>(reply);
  functions_.Call(*request, call->Answer());
  return call;
}

grpc::ServerUnaryReactor* ParameterService::BeginAttempt(
    grpc::CallbackServerContext* context,
    const v1::BeginAttemptRequest* request, v1::BeginAttemptReply* reply) {
  auto* call = new UnaryCall<v1::BeginAttemptReply>(reply);
  calls_.BeginAttempt(*request, call->Answer());
  return call;
}

absl::Status ParameterService::CheckIncarnation(uint64_t incarnation) const {
  if (incarnation == jobs_.incarnation()) return absl::OkStatus();
  return WithReason(absl::FailedPreconditionError(
                        "the order is for another start of this server"),
                    "OTHER_INCARNATION");
}

grpc::ServerUnaryReactor* ParameterService::AssignPartitions(
    grpc::CallbackServerContext* context,
    const v1::AssignPartitionsRequest* request,
    v1::AssignPartitionsReply* reply) {
  auto* call = new UnaryCall<v1::AssignPartitionsReply>(reply);
  orders_.AssignPartitions(*request, call->Answer());
  return call;
}

absl::StatusOr<PartitionActor*> ParameterService::FindPartition(
    const v1::JobRef& job, uint64_t incarnation, uint32_t table,
    uint32_t partition, std::shared_ptr<const ServedJob>* keep) const {
  SERAPH_RETURN_IF_ERROR(CheckIncarnation(incarnation));
  SERAPH_ASSIGN_OR_RETURN(*keep, jobs_.Find(JobNameOf(job)));
  PartitionActor* actor = (*keep)->Find(table, partition);
  if (actor == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "table ", table, ", partition ", partition, " is not on this server"));
  }
  return actor;
}

grpc::ServerUnaryReactor* ParameterService::LoadRows(
    grpc::CallbackServerContext* context, const v1::LoadRowsRequest* request,
    v1::LoadRowsReply* reply) {
  std::shared_ptr<const ServedJob> job;
  const auto actor =
      FindPartition(request->job(), request->incarnation(), request->table(),
                    request->partition(), &job);
  if (!actor.ok()) return FinishNow(context, actor.status());
  auto keys = Values<Key>(request->keys(), "keys");
  if (!keys.ok()) return FinishNow(context, keys.status());
  auto values = Values<float>(request->values(), "values");
  if (!values.ok()) return FinishNow(context, values.status());
  for (Key& key : *keys) key = ToMixedKey((*actor)->options().table, key);

  auto* call = new UnaryCall<v1::LoadRowsReply>(reply);
  (*actor)->Load(*std::move(keys), *std::move(values),
                 [answer = call->Answer()](Done done) {
                   if (done.status.ok()) {
                     answer(v1::LoadRowsReply());
                   } else {
                     answer(done.status);
                   }
                 });
  return call;
}

grpc::ServerWriteReactor<v1::RowChunk>* ParameterService::ExportPartition(
    grpc::CallbackServerContext* context,
    const v1::ExportPartitionRequest* request) {
  std::shared_ptr<const ServedJob> job;
  const auto actor =
      FindPartition(request->job(), request->incarnation(), request->table(),
                    request->partition(), &job);
  if (!actor.ok()) return new FailedExport(actor.status());
  return new ExportStream(std::move(job), *actor);
}

grpc::ServerUnaryReactor* ParameterService::ReadLedger(
    grpc::CallbackServerContext* context, const v1::ReadLedgerRequest* request,
    v1::ReadLedgerReply* reply) {
  std::shared_ptr<const ServedJob> job;
  const uint64_t incarnation = request->incarnation() != 0
                                   ? request->incarnation()
                                   : jobs_.incarnation();
  const auto ledger = FindPartition(request->job(), incarnation, 0, 0, &job);
  if (!ledger.ok()) return FinishNow(context, ledger.status());
  auto* call = new UnaryCall<v1::ReadLedgerReply>(reply);
  (*ledger)->Run([generation = job->name.generation,
                  from_epoch = request->from_epoch(),
                  answer = call->Answer()](Partition* partition) {
    if (partition == nullptr || !partition->leads()) {
      return answer(absl::NotFoundError("the ledger is not led here"));
    }
    const PartitionState& state = partition->state();
    v1::ReadLedgerReply reply;
    reply.set_generation(generation);
    reply.set_failure(partition->failure());
    reply.set_skipped_rows(state.skipped_rows());
    for (uint32_t rank = 0; rank < state.ranks(); ++rank) {
      EncodeRank(state.rank(rank), from_epoch, reply.add_ranks());
    }
    answer(std::move(reply));
  });
  return call;
}

grpc::ServerUnaryReactor* ParameterService::DropJob(
    grpc::CallbackServerContext* context, const v1::DropJobRequest* request,
    v1::DropJobReply* reply) {
  auto* call = new UnaryCall<v1::DropJobReply>(reply);
  orders_.DropJob(*request, call->Answer());
  return call;
}

grpc::ServerUnaryReactor* ParameterService::DescribeServer(
    grpc::CallbackServerContext* context,
    const v1::DescribeServerRequest* request, v1::DescribeServerReply* reply) {
  reply->set_incarnation(jobs_.incarnation());
  for (const auto& job : jobs_.All()) {
    for (const auto& [place, actor] : job->partitions) {
      v1::PartitionDescription* state = reply->add_partitions();
      state->set_job(job->name.id);
      state->set_table(job->tables()[place.first].name);
      state->set_partition(place.second);
      const PartitionActor::Gauges& gauges = actor->gauges();
      state->set_epoch(gauges.epoch);
      state->set_rows(gauges.rows);
      state->set_memory_bytes(gauges.bytes);
      state->set_position(gauges.position);
      state->set_parked_pulls(gauges.parked);
      state->set_duty(ToProto(gauges.duty));
      state->set_unconfirmed(gauges.unconfirmed);
    }
  }
  return FinishNow(context, absl::OkStatus());
}

}  // namespace seraph
