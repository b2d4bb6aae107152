#include "scheduler/service/job_service.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/cluster/node_identity.h"
#include "common/job/job_spec.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/unary_call.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/table_codec.h"
#include "scheduler/io/job_files.h"
#include "scheduler/service/order_codec.h"

namespace seraph {
namespace {

constexpr size_t kLinesPerLook = 100;

grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context,
                                    const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

absl::Status NoSuchJob(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("there is no job '", id, "'"));
}

// Random: ids are never used again.
std::string NewJobId() {
  return absl::StrFormat("%012x", NewIncarnation() >> 16);
}

}  // namespace

grpc::ServerUnaryReactor* JobService::SubmitJob(
    grpc::CallbackServerContext* context, const v1::SubmitJobRequest* request,
    v1::SubmitJobReply* reply) {
  auto* call = new UnaryCall<v1::SubmitJobReply>(reply);
  parts_.files->Schedule(
      [this, request = *request, answer = call->Answer()]() mutable {
        answer(Submit(request));
      });
  return call;
}

absl::StatusOr<v1::SubmitJobReply> JobService::Submit(
    const v1::SubmitJobRequest& request) {
  if (!request.base_directory().starts_with('/')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "base_directory '", request.base_directory(), "' is not absolute"));
  }
  const std::string file =
      request.file_name().empty() ? "job.yaml" : request.file_name();
  SERAPH_ASSIGN_OR_RETURN(JobSpec spec, ParseJobSpec(request.yaml(), file, {}));
  JobSubmitted event;
  event.id = NewJobId();
  event.request = {.spec = std::move(spec),
                   .base_directory = request.base_directory(),
                   .submission_id = request.submission_id()};
  SERAPH_RETURN_IF_ERROR(CheckInputs(event.request));
  const SchedulerEngine::Answer answer = parts_.engine->Handle(event);
  if (!answer.status.ok()) return answer.status;
  v1::SubmitJobReply reply;
  reply.set_id(answer.job);
  return reply;
}

absl::Status JobService::Describe(const std::string& id,
                                  v1::JobStatus* reply) const {
  const std::optional<JobView> view = parts_.engine->Job(id);
  if (!view.has_value()) return NoSuchJob(id);
  ToProto(*view, reply);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* JobService::GetJob(
    grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
    v1::JobStatus* reply) {
  return FinishNow(context, Describe(request->id(), reply));
}

grpc::ServerUnaryReactor* JobService::ListJobs(
    grpc::CallbackServerContext* context, const v1::ListJobsRequest* request,
    v1::ListJobsReply* reply) {
  for (const JobView& view : parts_.engine->Jobs()) {
    ToProto(view, reply->add_jobs());
  }
  return FinishNow(context, absl::OkStatus());
}

grpc::ServerWriteReactor<v1::JobStatus>* JobService::WatchJob(
    grpc::CallbackServerContext* context, const v1::WatchJobRequest* request) {
  return PolledStream<v1::JobStatus>::Open(
      parts_.poller,
      [engine = parts_.engine, id = request->id(), known = uint64_t{0},
       ended = false](v1::JobStatus* message) mutable -> StreamStep {
        if (ended) return {.kind = StreamStep::kEnd};
        const SchedulerEngine::Look look = engine->LookAt(id, known);
        if (!look.exists) {
          return {.kind = StreamStep::kEnd, .status = NoSuchJob(id)};
        }
        if (!look.changed.has_value()) return {.kind = StreamStep::kWait};
        known = look.changed->version;
        ended = HasEnded(look.changed->state);
        message->Clear();
        ToProto(*look.changed, message);
        // The end of the stream follows its last message at once.
        return {.kind = StreamStep::kMessage, .more = ended};
      });
}

grpc::ServerUnaryReactor* JobService::FindTables(
    grpc::CallbackServerContext* context, const v1::FindTablesRequest* request,
    v1::FindTablesReply* reply) {
  const std::optional<JobView> view = parts_.engine->Job(request->id());
  if (!view.has_value()) return FinishNow(context, NoSuchJob(request->id()));
  const std::shared_ptr<const JobPlan> plan =
      parts_.engine->Plan(request->id());
  if (plan == nullptr) {
    return FinishNow(
        context, absl::FailedPreconditionError(absl::StrCat(
                     "job ", request->id(), " has no tables: it is ",
                     JobStateName(view->state),
                     HasEnded(view->state) ? "" : " and does not train now")));
  }
  ToProto(plan->job, reply->mutable_job());
  for (const TableSpec& table : plan->tables) {
    ToProto(table, reply->add_tables());
  }
  for (const PartitionPlacement& placement : plan->partitions) {
    ToProto(placement, reply->add_partitions());
  }
  reply->set_placements_version(plan->placements_version);
  return FinishNow(context, absl::OkStatus());
}

grpc::ServerWriteReactor<v1::JobLogLine>* JobService::ReadJobLog(
    grpc::CallbackServerContext* context,
    const v1::ReadJobLogRequest* request) {
  return PolledStream<v1::JobLogLine>::Open(
      parts_.poller,
      [parts = parts_, id = request->id(), follow = request->follow(),
       lines = std::deque<JobEvent>(), next = uint64_t{0},
       last_look = false](v1::JobLogLine* message) mutable -> StreamStep {
        if (lines.empty()) {
          const SchedulerEngine::Look look = parts.engine->LookAt(id, 0);
          if (!look.exists) {
            return {.kind = StreamStep::kEnd, .status = NoSuchJob(id)};
          }
          JobLog::Lines read = parts.log->Read(id, next, kLinesPerLook);
          next = read.next;
          lines.assign(read.events.begin(), read.events.end());
          if (lines.empty()) {
            // The last line is written soon after the job's end is seen.
            const bool ended = HasEnded(look.changed->state);
            if (!follow || (ended && std::exchange(last_look, true))) {
              return {.kind = StreamStep::kEnd};
            }
            return {.kind = StreamStep::kWait};
          }
        }
        message->set_time(Timestamp(lines.front().time));
        message->set_text(lines.front().text);
        lines.pop_front();
        return {.kind = StreamStep::kMessage, .more = true};
      });
}

grpc::ServerUnaryReactor* JobService::CancelJob(
    grpc::CallbackServerContext* context, const v1::CancelJobRequest* request,
    v1::JobStatus* reply) {
  auto* call = new UnaryCall<v1::JobStatus>(reply);
  parts_.engine->Handle(JobCancelled{request->id()},
                        [this, id = request->id(), answer = call->Answer()](
                            const SchedulerEngine::Answer& done) mutable {
                          if (!done.status.ok()) return answer(done.status);
                          v1::JobStatus status;
                          const absl::Status described = Describe(id, &status);
                          if (!described.ok()) return answer(described);
                          answer(std::move(status));
                        });
  return call;
}

template <typename AnEvent, typename Reply>
grpc::ServerUnaryReactor* JobService::AnswerLater(
    AnEvent event, Reply* reply,
    std::function<absl::StatusOr<Reply>()> describe) {
  auto* call = new UnaryCall<Reply>(reply);
  event.waiter = parts_.waiters->Add(
      [answer = call->Answer(),
       describe = std::move(describe)](absl::StatusOr<bool> done) mutable {
        if (done.ok()) {
          answer(describe());
        } else {
          answer(done.status());
        }
      });
  parts_.engine->Handle(event, [this, waiter = event.waiter](
                                   const SchedulerEngine::Answer& taken) {
    if (!taken.status.ok()) parts_.waiters->Tell(waiter, taken.status);
  });
  return call;
}

absl::StatusOr<v1::JobStatus> JobService::StatusOf(
    const std::string& id) const {
  v1::JobStatus status;
  SERAPH_RETURN_IF_ERROR(Describe(id, &status));
  return status;
}

grpc::ServerUnaryReactor* JobService::CheckpointJob(
    grpc::CallbackServerContext* context,
    const v1::CheckpointJobRequest* request, v1::CheckpointJobReply* reply) {
  return AnswerLater<CheckpointAsked, v1::CheckpointJobReply>(
      {request->id()}, reply,
      [this, id = request->id()]() -> absl::StatusOr<v1::CheckpointJobReply> {
        SERAPH_ASSIGN_OR_RETURN(const v1::JobStatus status, StatusOf(id));
        v1::CheckpointJobReply made;
        *made.mutable_checkpoint() = status.checkpoint();
        return made;
      });
}

grpc::ServerUnaryReactor* JobService::PauseJob(
    grpc::CallbackServerContext* context, const v1::PauseJobRequest* request,
    v1::JobStatus* reply) {
  return AnswerLater<JobPaused, v1::JobStatus>(
      {request->id()}, reply,
      [this, id = request->id()] { return StatusOf(id); });
}

grpc::ServerUnaryReactor* JobService::ResumeJob(
    grpc::CallbackServerContext* context, const v1::ResumeJobRequest* request,
    v1::JobStatus* reply) {
  auto* call = new UnaryCall<v1::JobStatus>(reply);
  parts_.engine->Handle(JobResumed{request->id()},
                        [this, id = request->id(), answer = call->Answer()](
                            const SchedulerEngine::Answer& done) mutable {
                          if (!done.status.ok()) return answer(done.status);
                          answer(StatusOf(id));
                        });
  return call;
}

}  // namespace seraph
