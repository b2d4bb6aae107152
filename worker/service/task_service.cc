#include "worker/service/task_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/concurrent/notification.h"
#include "common/job/job_spec.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/unary_call.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/dataset_codec.h"
#include "common/wire/table_codec.h"
#include "worker/data/record_bytes.h"
#include "worker/data/scan.h"
#include "worker/service/job_rules.h"

namespace seraph {
namespace {

// What the process takes before it holds a record.
constexpr uint64_t kProcessBytes = uint64_t{48} << 20;
// How often it is looked whether ranks have ended.
constexpr absl::Duration kLook = absl::Milliseconds(10);

// The specification as it travels: canonical, so that only a scheduler of
// another version can send one that does not parse.
absl::StatusOr<JobSpec> ParseSpec(const std::string& yaml) {
  return ParseJobSpec(yaml, "(order)", {});
}

absl::StatusOr<std::vector<PartitionPlacement>> DecodePlacements(
    const google::protobuf::RepeatedPtrField<v1::PartitionPlacement>& from) {
  std::vector<PartitionPlacement> placements;
  for (const v1::PartitionPlacement& message : from) {
    SERAPH_ASSIGN_OR_RETURN(PartitionPlacement placement, FromProto(message));
    placements.push_back(std::move(placement));
  }
  return placements;
}

absl::StatusOr<JobOrder> DecodeOrder(const v1::RunRanksRequest& request) {
  JobOrder order;
  order.job = request.job().id();
  order.generation = request.job().generation();
  SERAPH_ASSIGN_OR_RETURN(order.spec, ParseSpec(request.job_yaml()));
  SERAPH_ASSIGN_OR_RETURN(order.train, FromProto(request.train()));
  if (request.has_validation()) {
    SERAPH_ASSIGN_OR_RETURN(order.validation, FromProto(request.validation()));
  }
  SERAPH_ASSIGN_OR_RETURN(order.labels, FromProto(request.labels()));
  for (const v1::TableSpec& message : request.tables()) {
    SERAPH_ASSIGN_OR_RETURN(TableSpec table, FromProto(message));
    order.tables.push_back(std::move(table));
  }
  SERAPH_ASSIGN_OR_RETURN(order.partitions,
                          DecodePlacements(request.partitions()));
  order.epoch_barrier = request.epoch_barrier();
  order.placements_version = request.placements_version();
  if (request.lease_ms() > 0) {
    order.lease = absl::Milliseconds(request.lease_ms());
  }
  return order;
}

}  // namespace

absl::Status TaskService::CheckIncarnation(uint64_t incarnation) const {
  if (incarnation == options_.parts.incarnation) return absl::OkStatus();
  return WithReason(absl::FailedPreconditionError(
                        "the order is for another start of this worker"),
                    "OTHER_INCARNATION");
}

absl::Status TaskService::Admit(uint64_t incarnation, uint64_t term) const {
  SERAPH_RETURN_IF_ERROR(CheckIncarnation(incarnation));
  return options_.terms->Admit(term);
}

template <typename Request, typename Reply, typename CarryOut>
grpc::ServerUnaryReactor* TaskService::Schedule(const Request* request,
                                                Reply* reply,
                                                CarryOut carry_out) {
  auto* call = new UnaryCall<Reply>(reply);
  pool_.Schedule(
      [request = *request, carry_out, answer = call->Answer()]() mutable {
        answer(carry_out(request));
      });
  return call;
}

grpc::ServerUnaryReactor* TaskService::Scan(
    grpc::CallbackServerContext* context, const v1::ScanRequest* request,
    v1::ScanReply* reply) {
  return Schedule(request, reply,
                  [this](const auto& order) { return DoScan(order); });
}

grpc::ServerUnaryReactor* TaskService::RunRanks(
    grpc::CallbackServerContext* context, const v1::RunRanksRequest* request,
    v1::RunRanksReply* reply) {
  return Schedule(request, reply,
                  [this](const auto& order) { return DoRunRanks(order); });
}

grpc::ServerUnaryReactor* TaskService::UpdatePlacements(
    grpc::CallbackServerContext* context,
    const v1::UpdatePlacementsRequest* request,
    v1::UpdatePlacementsReply* reply) {
  return Schedule(request, reply, [this](const auto& order) {
    return DoUpdatePlacements(order);
  });
}

grpc::ServerUnaryReactor* TaskService::StopJob(
    grpc::CallbackServerContext* context, const v1::StopJobRequest* request,
    v1::StopJobReply* reply) {
  return Schedule(request, reply,
                  [this](const auto& order) { return DoStopJob(order); });
}

absl::StatusOr<v1::ScanReply> TaskService::DoScan(
    const v1::ScanRequest& request) {
  SERAPH_RETURN_IF_ERROR(CheckIncarnation(request.incarnation()));
  SERAPH_ASSIGN_OR_RETURN(const JobSpec spec, ParseSpec(request.job_yaml()));
  RecordRules rules = RulesOf(spec);
  if (request.task().validation()) rules.validation_fraction = 0;
  const v1::ScanTask& message = request.task();
  ScanTask task;
  task.file = FromProto(message.file());
  task.file_index = message.file_index();
  task.begin = message.begin();
  if (message.end() > 0) task.end = message.end();
  task.block_bytes = message.block_bytes();
  SERAPH_ASSIGN_OR_RETURN(const DatasetFacts facts,
                          ScanPart(task, rules, options_.parts.spool));
  v1::ScanReply reply;
  ToProto(facts, reply.mutable_facts());
  return reply;
}

absl::Status TaskService::CheckNotStopped(const std::string& job,
                                          uint64_t generation) const {
  if (closed_) return absl::UnavailableError("the worker stops");
  const auto it = stopped_.find(job);
  if (it == stopped_.end() || generation > it->second) return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "job ", job, ", generation ", generation, ": it was stopped here")),
      "GENERATION_STALE");
}

absl::StatusOr<std::shared_ptr<JobRun>> TaskService::FindRun(
    const v1::JobRef& job) const {
  MutexLock lock(&mu_);
  SERAPH_RETURN_IF_ERROR(CheckNotStopped(job.id(), job.generation()));
  const auto it = jobs_.find(job.id());
  if (it == jobs_.end() || it->second->generation() < job.generation()) {
    return nullptr;
  }
  if (it->second->generation() > job.generation()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "job ", job.id(), ", generation ", job.generation(),
            ": generation ", it->second->generation(), " is here")),
        "GENERATION_STALE");
  }
  return it->second;
}

absl::StatusOr<JobMemory> TaskService::Reserve(
    const JobOrder& order, const JobRun* run,
    absl::Span<const uint32_t> ranks) {
  const uint64_t limit = options_.memory_limit_bytes;
  // A rank holds one group of records that are shuffled with each other, and
  // no more than its share of the data.
  const uint64_t share =
      RecordBytes(order.train, order.spec.data.format) / order.spec.ranks;
  JobMemory memory;
  memory.rank_bytes =
      std::min<uint64_t>(share, order.spec.data.options.group_bytes);
  const uint64_t wanted =
      run != nullptr ? run->BytesWith(ranks) : memory.rank_bytes * ranks.size();
  uint64_t taken = std::min(kProcessBytes, limit / 2);
  MutexLock lock(&mu_);
  for (const auto& [id, job] : jobs_) {
    if (id == order.job) continue;  // Its older generation goes.
    taken += job->BytesWith({});
  }
  for (const auto& [id, bytes] : beginning_) {
    if (id != order.job) taken += bytes;
  }
  if (taken + wanted > limit) {
    return WithReason(
        absl::ResourceExhaustedError(absl::StrCat(
            ranks.size(), " ranks of this job would hold ",
            memory.rank_bytes * ranks.size(),
            " bytes of records on this worker, where ",
            limit - std::min(limit,
                             taken + wanted - memory.rank_bytes * ranks.size()),
            " of worker.memory_limit (", limit,
            ") are left; raise it, lower data.options.group_bytes, or use more "
            "workers")),
        "NO_MEMORY_FOR_RECORDS");
  }
  // Records that may stay in memory from epoch to epoch: all that there are,
  // and no more than half of what is left, so that the next job finds something
  // too. A quarter of it is for the validation (JobRun).
  const uint64_t train = RecordBytes(order.train, order.spec.data.format);
  const uint64_t validation =
      order.validation.has_value()
          ? RecordBytes(*order.validation, order.spec.data.format)
          : 0;
  memory.cache_bytes = std::min<uint64_t>((limit - taken - wanted) / 2,
                                          train + train / 2 + 4 * validation);
  if (run == nullptr) beginning_[order.job] = wanted + memory.cache_bytes;
  return memory;
}

absl::StatusOr<v1::RunRanksReply> TaskService::DoRunRanks(
    const v1::RunRanksRequest& request) {
  SERAPH_RETURN_IF_ERROR(Admit(request.incarnation(), request.term()));
  const std::string& id = request.job().id();
  const uint64_t generation = request.job().generation();
  std::vector<uint32_t> ranks;
  for (const v1::RankRef& rank : request.ranks()) ranks.push_back(rank.rank());
  SERAPH_ASSIGN_OR_RETURN(std::shared_ptr<JobRun> run, FindRun(request.job()));
  SERAPH_ASSIGN_OR_RETURN(JobOrder order, DecodeOrder(request));
  SERAPH_ASSIGN_OR_RETURN(const JobMemory memory,
                          Reserve(order, run.get(), ranks));
  if (run == nullptr) {
    absl::StatusOr<std::unique_ptr<JobRun>> created =
        JobRun::Create(std::move(order), memory, options_.parts);
    std::shared_ptr<JobRun> replaced;  // Waits for its ranks without the lock.
    MutexLock lock(&mu_);
    beginning_.erase(id);
    if (!created.ok()) return created.status();
    run = *std::move(created);
    SERAPH_RETURN_IF_ERROR(CheckNotStopped(id, generation));
    std::shared_ptr<JobRun>& place = jobs_[id];
    if (place != nullptr && place->generation() >= generation) {
      run = place;  // Another copy of this order was faster.
    } else {
      replaced = std::exchange(place, run);
    }
  } else {
    SERAPH_RETURN_IF_ERROR(run->UpdatePlacements(request.placements_version(),
                                                 std::move(order.partitions)));
  }
  for (const v1::RankRef& rank : request.ranks()) {
    SERAPH_RETURN_IF_ERROR(run->StartRank(rank.rank(), rank.attempt()));
  }
  return v1::RunRanksReply();
}

absl::StatusOr<v1::UpdatePlacementsReply> TaskService::DoUpdatePlacements(
    const v1::UpdatePlacementsRequest& request) {
  SERAPH_RETURN_IF_ERROR(Admit(request.incarnation(), request.term()));
  SERAPH_ASSIGN_OR_RETURN(const std::shared_ptr<JobRun> run,
                          FindRun(request.job()));
  if (run == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("nothing of job ", request.job().id(), ", generation ",
                     request.job().generation(), ", runs here"));
  }
  SERAPH_ASSIGN_OR_RETURN(std::vector<PartitionPlacement> placements,
                          DecodePlacements(request.partitions()));
  SERAPH_RETURN_IF_ERROR(run->UpdatePlacements(request.placements_version(),
                                               std::move(placements)));
  return v1::UpdatePlacementsReply();
}

absl::StatusOr<v1::StopJobReply> TaskService::DoStopJob(
    const v1::StopJobRequest& request) {
  SERAPH_RETURN_IF_ERROR(Admit(request.incarnation(), request.term()));
  std::shared_ptr<JobRun> gone;
  MutexLock lock(&mu_);
  uint64_t& highest = stopped_[request.job().id()];
  highest = std::max<uint64_t>(highest, request.job().generation());
  const auto it = jobs_.find(request.job().id());
  if (it != jobs_.end() &&
      it->second->generation() <= request.job().generation()) {
    gone = std::move(it->second);
    jobs_.erase(it);
  }
  // The lock goes first, then the ranks are joined.
  return v1::StopJobReply();
}

void TaskService::LetGo() {
  std::map<std::string, std::shared_ptr<JobRun>> gone;
  {
    MutexLock lock(&mu_);
    gone.swap(jobs_);
  }
  // The ranks are joined there.
  if (!gone.empty()) pool_.Schedule([gone = std::move(gone)]() mutable {});
}

void TaskService::AskSchedulerAnew() {
  std::vector<std::shared_ptr<JobRun>> jobs;
  {
    MutexLock lock(&mu_);
    for (const auto& [id, job] : jobs_) jobs.push_back(job);
  }
  for (const std::shared_ptr<JobRun>& job : jobs) job->AskSchedulerAnew();
}

uint32_t TaskService::WindDown(absl::Duration patience) {
  std::vector<std::shared_ptr<JobRun>> jobs;
  {
    MutexLock lock(&mu_);
    closed_ = true;
    for (const auto& [id, job] : jobs_) jobs.push_back(job);
  }
  for (const std::shared_ptr<JobRun>& job : jobs) job->WindDown();
  const MonotonicClock* const clock = MonotonicClock::Real();
  const absl::Duration end = clock->Now() + patience;
  const Notification never;
  while (ranks() > 0 && clock->Now() < end) never.WaitFor(kLook);
  return ranks();
}

void TaskService::Close() {
  std::map<std::string, std::shared_ptr<JobRun>> gone;
  MutexLock lock(&mu_);
  closed_ = true;
  // The lock goes first, then the ranks are joined.
  gone.swap(jobs_);
}

uint32_t TaskService::ranks() const {
  MutexLock lock(&mu_);
  uint32_t ranks = 0;
  for (const auto& [id, job] : jobs_) ranks += job->ranks();
  return ranks;
}

}  // namespace seraph
