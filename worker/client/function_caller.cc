#include "worker/client/function_caller.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/draw.h"
#include "common/functions/partial_result.h"
#include "common/rpc/backoff.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/function_codec.h"
#include "worker/client/refusal.h"

namespace seraph {
namespace {

// Of a call's patience, for one try: a server that stands still is asked about
// anew. A call at a clock may have to wait.
constexpr int kTries = 3;

}  // namespace

// A call, until all partitions have answered.
struct FunctionCaller::Attempt {
  std::string table_name;
  v1::CallRequest request;  // Without what depends on the placements.
  absl::Duration deadline;

  FunctionTables tables;
  uint32_t table = 0;
  std::vector<std::optional<PartialResult>> parts;
  std::optional<std::pair<uint32_t, v1::CombineRule>> function;
  // Servers that were lost while the call may have run there.
  std::set<uint64_t> lost;
  absl::Status trouble;  // The last that may pass.

  absl::Status Place(FunctionTables found) {
    const bool anew =
        tables.router == nullptr || found.generation != tables.generation;
    tables = std::move(found);
    if (!anew) return absl::OkStatus();
    const std::vector<TableSpec>& specs = tables.router->tables();
    if (table_name.empty() && specs.size() == 1) table_name = specs[0].name;
    const auto it = std::find_if(
        specs.begin(), specs.end(),
        [&](const TableSpec& spec) { return spec.name == table_name; });
    if (it == specs.end()) {
      const std::string names = absl::StrJoin(
          specs, ", ",
          [](std::string* out, const auto& spec) { out->append(spec.name); });
      if (table_name.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the job has several tables: name one of ", names));
      }
      return absl::NotFoundError(absl::StrCat("the job has no table '",
                                              table_name, "'; it has ", names));
    }
    table = it - specs.begin();
    parts.assign(Partitioning(*it).partitions(), std::nullopt);
    return absl::OkStatus();
  }

  bool IsComplete() const {
    return tables.router != nullptr &&
           std::all_of(parts.begin(), parts.end(),
                       [](const auto& part) { return part.has_value(); });
  }
};

absl::StatusOr<FunctionResult> FunctionCaller::Read(
    const std::string& table, const FunctionCall& call,
    const std::optional<At>& at) {
  v1::CallRequest request;
  ToProto(call, request.mutable_call());
  if (at.has_value()) {
    v1::RankRef* rank = request.mutable_header()->mutable_rank();
    rank->set_rank(at->rank);
    rank->set_attempt(at->attempt);
    ToProto(at->clock, request.mutable_clock());
  }
  return Call(table, request);
}

absl::Status FunctionCaller::Write(const std::string& table,
                                   const FunctionCall& call) {
  v1::CallRequest request;
  ToProto(call, request.mutable_call());
  request.mutable_header()->set_session(session_);
  request.set_number(++written_);
  const absl::Status status = Call(table, request).status();
  if (!status.ok()) {
    // Partitions may disagree about the number that is next.
    session_ = std::max<uint64_t>(1, Draw(session_, {written_}));
    written_ = 0;
  }
  return status;
}

absl::StatusOr<FunctionResult> FunctionCaller::Call(
    const std::string& table, const v1::CallRequest& request) {
  Attempt attempt;
  attempt.table_name = table;
  attempt.request = request;
  attempt.deadline = peers_.Now() + options_.patience;
  Backoff backoff(options_.retry_backoff, options_.retry_backoff_max,
                  options_.seed);
  while (true) {
    SERAPH_RETURN_IF_ERROR(Ask(&attempt));
    if (attempt.IsComplete()) break;
    const absl::Duration left = attempt.deadline - peers_.Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(absl::StrCat(
          "function '", request.call().function(), "': no answer within ",
          absl::FormatDuration(options_.patience), ": ",
          attempt.trouble.message()));
    }
    SERAPH_RETURN_IF_ERROR(peers_.Pause(std::min(left, backoff.Next())));
  }
  FunctionResult result;
  result.table = attempt.table_name;
  result.version = attempt.function->first;
  SERAPH_ASSIGN_OR_RETURN(result.combine, FromProto(attempt.function->second));
  std::vector<PartialResult> parts;
  for (auto& part : attempt.parts) parts.push_back(*std::move(part));
  SERAPH_ASSIGN_OR_RETURN(result.values, CombineParts(result.combine, parts));
  return result;
}

absl::Status FunctionCaller::Ask(Attempt* attempt) {
  absl::StatusOr<FunctionTables> found = peers_.FindTables();
  if (!found.ok()) {
    if (!MayPass(found.status()) || absl::IsNotFound(found.status()) ||
        absl::IsCancelled(found.status())) {
      return found.status();
    }
    attempt->trouble = found.status();
    return absl::OkStatus();
  }
  SERAPH_RETURN_IF_ERROR(attempt->Place(*std::move(found)));

  const TableRouter& router = *attempt->tables.router;
  std::map<size_t, ServerCall> by_server;
  for (uint32_t p = 0; p < attempt->parts.size(); ++p) {
    if (attempt->parts[p].has_value()) continue;
    const size_t placement = router.PlacementOf(attempt->table, p);
    const size_t server = router.ServerOf(placement);
    if (server == TableRouter::kNoServer) {
      attempt->trouble = absl::UnavailableError("a partition has no primary");
      continue;
    }
    ServerCall& call = by_server[server];
    if (call.request.parts_size() == 0) {
      call.server = router.servers()[server];
      call.request = attempt->request;
      v1::RequestHeader* header = call.request.mutable_header();
      header->mutable_job()->set_id(attempt->tables.job);
      header->mutable_job()->set_generation(attempt->tables.generation);
      header->set_incarnation(call.server.incarnation);
      call.request.set_table(attempt->table);
    }
    v1::CallPart* part = call.request.add_parts();
    part->set_partition(p);
    part->set_epoch(router.placements()[placement].epoch);
    if (call.request.has_clock()) part->set_number(++last_number_);
  }
  std::vector<ServerCall> calls;
  for (auto& [server, call] : by_server) {
    if (attempt->lost.size() > 1 &&
        !attempt->lost.contains(call.server.incarnation)) {
      return absl::AbortedError(absl::StrCat(
          "function '", call.request.call().function(),
          "' may have been running on two servers when they were lost, and is "
          "not tried on a third"));
    }
    calls.push_back(std::move(call));
  }
  if (calls.empty()) return absl::OkStatus();
  const absl::Duration left =
      std::max(absl::Milliseconds(1), attempt->deadline - peers_.Now());
  const bool parks = attempt->request.has_clock();
  const auto replies = peers_.CallAll(
      calls, parks ? left : std::min(left, options_.patience / kTries));
  for (size_t i = 0; i < calls.size(); ++i) {
    SERAPH_RETURN_IF_ERROR(Take(calls[i], replies[i], attempt));
  }
  return absl::OkStatus();
}

absl::Status FunctionCaller::Take(const ServerCall& call,
                                  const absl::StatusOr<v1::CallReply>& reply,
                                  Attempt* attempt) {
  if (!reply.ok()) {
    const absl::Status& status = reply.status();
    if (absl::IsUnavailable(status)) {
      attempt->lost.insert(call.server.incarnation);
    }
    // A generation that is over here: the job went back, and has another. A
    // rank goes back with it.
    const bool passes = (ReasonOf(status) == "GENERATION_STALE" &&
                         !attempt->request.header().has_rank()) ||
                        (MayPass(status) && !ReasonOf(status).empty()) ||
                        IsTransient(status);
    if (!passes) return status;
    attempt->trouble = status;
    return absl::OkStatus();
  }
  if (reply->results_size() != call.request.parts_size() ||
      reply->partials_size() != call.request.parts_size()) {
    return absl::InternalError("a server's answer has other parts");
  }
  const std::pair function(reply->version(), reply->combine());
  if (attempt->function.has_value() && attempt->function != function) {
    return absl::FailedPreconditionError(
        absl::StrCat("function '", call.request.call().function(),
                     "' has different versions on the job's servers: ",
                     attempt->function->first, " and ", reply->version()));
  }
  attempt->function = function;
  for (int i = 0; i < reply->results_size(); ++i) {
    const absl::Status status = PartError(reply->results(i));
    if (status.ok()) {
      SERAPH_ASSIGN_OR_RETURN(attempt->parts[call.request.parts(i).partition()],
                              FromProto(reply->partials(i)));
    } else if (MayPass(status)) {
      attempt->trouble = status;
    } else {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace seraph
