#include "server/service/function_calls.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/function_codec.h"
#include "server/service/answer_join.h"
#include "server/service/order_codec.h"
#include "server/service/request_codec.h"

namespace seraph {
namespace {

using PlannedPtr = std::shared_ptr<const PlannedCall>;

// A request on its way to the partitions. Keeps the job, and so its actors.
struct Work {
  v1::CallRequest request;
  std::shared_ptr<const ServedJob> job;
  PlannedCall planned;
  std::optional<uint32_t> other_table;  // Where it is another one.
  std::shared_ptr<AnswerJoin<Answer>> join;

  const FunctionSignature& signature() const {
    return planned.function->signature();
  }
};

// What the argument says that names another table, or the same one.
absl::StatusOr<std::optional<uint32_t>> OtherTable(const ServedJob& job,
                                                   uint32_t table,
                                                   const PlannedCall& planned) {
  const FunctionSignature& signature = planned.function->signature();
  if (!planned.function->reads_other()) return std::nullopt;
  std::optional<uint32_t> other = table;
  const size_t named = *signature.Find("table");
  if (named < planned.call.arguments.size()) {
    const auto& name = std::get<std::string>(planned.call.arguments[named]);
    other.reset();
    for (uint32_t i = 0; i < job.tables().size(); ++i) {
      if (job.tables()[i].name == name) other = i;
    }
    if (!other.has_value()) {
      return absl::NotFoundError(absl::StrCat("function '", signature.name,
                                              "': the job has no table '", name,
                                              "'"));
    }
  }
  const int64_t column =
      std::get<int64_t>(planned.call.arguments[*signature.Find("column")]);
  const TableSpec& spec = job.tables()[*other];
  if (column < 0 || column >= int64_t{spec.width}) {
    return absl::InvalidArgumentError(
        absl::StrCat("function '", signature.name, "': table '", spec.name,
                     "' has columns 0 to ", spec.width - 1, ", not ", column));
  }
  if (*other == table) return std::nullopt;
  const TableSpec& own = job.tables()[table];
  const bool alike =
      own.kind == spec.kind && own.scramble == spec.scramble &&
      (own.kind == TableKind::kSparse || own.keys == spec.keys) &&
      Partitioning(own).partitions() == Partitioning(spec).partitions();
  if (!alike) {
    return absl::FailedPreconditionError(absl::StrCat(
        "function '", signature.name, "': tables '", own.name, "' and '",
        spec.name,
        "' are not cut alike: they need the same kind, keys, scramble and "
        "partitions"));
  }
  return other;
}

absl::Status CheckKind(const v1::CallRequest& request,
                       const FunctionSignature& signature) {
  const v1::RequestHeader& header = request.header();
  if (signature.writes && (header.has_rank() || request.has_clock() ||
                           header.session() == 0 || request.number() == 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "function '", signature.name,
        "' writes: a call of it is named by a session and a number from 1, and "
        "a rank's goes with its entry"));
  }
  if (request.has_clock() && !header.has_rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "function '", signature.name, "': a call at a clock needs a rank"));
  }
  return absl::OkStatus();
}

void Refuse(PartCode code, std::string message, size_t part, const Work& work) {
  Answer answer;
  answer.outcome = {.code = code, .message = std::move(message)};
  work.join->Set(part, std::move(answer));
}

PullMessage PullOf(const Work& work, PlannedPtr planned) {
  PullMessage message;
  message.rank = RankNameOf(work.request.header());
  if (work.request.has_clock()) {
    message.clock = FromProto(work.request.clock());
  }
  message.call = std::move(planned);
  return message;
}

void Run(const std::shared_ptr<Work>& work, size_t part,
         std::shared_ptr<const ColumnCopy> other) {
  const v1::CallPart& where = work->request.parts(part);
  PartitionActor* const actor =
      work->job->Find(work->request.table(), where.partition());
  auto planned = std::make_shared<PlannedCall>(work->planned);
  planned->other = std::move(other);
  auto answer = [work, part](Answer answer) {
    work->join->Set(part, std::move(answer));
  };
  if (work->signature().writes) {
    PushMessage message;
    message.epoch = where.epoch();
    message.session = work->request.header().session();
    message.number = work->request.number();
    message.call = std::move(planned);
    return actor->Push(std::move(message), std::move(answer));
  }
  PullMessage message = PullOf(*work, std::move(planned));
  message.epoch = where.epoch();
  message.number = where.number();
  actor->Pull(std::move(message), std::move(answer));
}

// The other table's column first. Its epoch is the one that it has here: the
// caller knows nothing of it.
void RunWithOther(const std::shared_ptr<Work>& work, size_t part) {
  const uint32_t partition = work->request.parts(part).partition();
  const std::vector<TableSpec>& tables = work->job->tables();
  const std::string& own = tables[work->request.table()].name;
  const TableSpec& spec = tables[*work->other_table];
  PartitionActor* const actor = work->job->Find(*work->other_table, partition);
  if (actor == nullptr || !actor->leads()) {
    return Refuse(
        PartCode::kFunctionFailed,
        absl::StrCat("function '", work->signature().name, "': partition ",
                     partition, " of tables '", own, "' and '", spec.name,
                     "' is not led by the same server"),
        part, *work);
  }
  auto planned = std::make_shared<PlannedCall>();
  planned->function = ColumnCopyFunction();
  planned->call.column = std::get<int64_t>(
      work->planned.call.arguments[*work->signature().Find("column")]);
  PullMessage message = PullOf(*work, planned);
  message.epoch = actor->gauges().epoch;
  actor->Pull(std::move(message), [work, part, planned, &spec](Answer answer) {
    if (answer.outcome.code != PartCode::kOk || answer.result == nullptr) {
      return work->join->Set(part, std::move(answer));
    }
    auto copy = std::make_shared<ColumnCopy>();
    copy->table = spec;
    copy->column = planned->call.column;
    copy->keys = std::get<std::vector<Key>>(answer.result->values[0]);
    copy->values = std::get<std::vector<float>>(answer.result->values[1]);
    Run(work, part, std::move(copy));
  });
}

v1::CallReply EncodeReply(const FunctionSignature& signature,
                          const std::vector<Answer>& answers) {
  v1::CallReply reply;
  reply.set_version(signature.version);
  reply.set_combine(ToProto(signature.combine));
  for (const Answer& answer : answers) {
    EncodeResult(answer, reply.add_results());
    v1::PartialResult* partial = reply.add_partials();
    // An answer whose lease is over has lost its OK on the way.
    if (answer.outcome.code == PartCode::kOk && answer.result != nullptr) {
      ToProto(*answer.result, partial);
    }
  }
  return reply;
}

}  // namespace

void FunctionCalls::Call(const v1::CallRequest& request, Done done) {
  const auto work = std::make_shared<Work>();
  const auto prepare = [&]() -> absl::Status {
    const v1::RequestHeader& header = request.header();
    if (header.incarnation() != 0 &&
        header.incarnation() != jobs_.incarnation()) {
      return WithReason(
          absl::FailedPreconditionError(
              "the message is for an earlier start of this server"),
          "OTHER_INCARNATION");
    }
    SERAPH_ASSIGN_OR_RETURN(work->job, jobs_.Find(JobNameOf(header.job())));
    if (request.table() >= work->job->tables().size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no table ", request.table()));
    }
    const TableSpec& table = work->job->tables()[request.table()];
    if (request.parts_size() > int64_t{Partitioning(table).partitions()}) {
      return absl::InvalidArgumentError(
          absl::StrCat(request.parts_size(), " parts, and table '", table.name,
                       "' has fewer"));
    }
    SERAPH_ASSIGN_OR_RETURN(FunctionCall call, FromProto(request.call()));
    SERAPH_ASSIGN_OR_RETURN(work->planned,
                            functions_.Plan(std::move(call), table.width));
    SERAPH_RETURN_IF_ERROR(CheckKind(request, work->signature()));
    SERAPH_ASSIGN_OR_RETURN(
        work->other_table,
        OtherTable(*work->job, request.table(), work->planned));
    return absl::OkStatus();
  };
  if (absl::Status status = prepare(); !status.ok()) return done(status);

  work->request = request;
  work->join = AnswerJoin<Answer>::Of(
      request.parts_size(),
      [signature = work->signature(),
       done = std::move(done)](std::vector<Answer> answers) mutable {
        done(EncodeReply(signature, answers));
      });
  for (int i = 0; i < request.parts_size(); ++i) {
    const uint32_t partition = request.parts(i).partition();
    if (work->job->Find(request.table(), partition) == nullptr) {
      Refuse(PartCode::kNotHere, "this server does not hold the partition", i,
             *work);
    } else if (work->other_table.has_value()) {
      RunWithOther(work, i);
    } else {
      Run(work, i, nullptr);
    }
  }
}

}  // namespace seraph
