#include "worker/service/job_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "worker/model/model.h"
#include "worker/service/grpc_rank_peers.h"
#include "worker/service/job_rules.h"
#include "worker/train/data_streams.h"

namespace seraph {
namespace {

// The model's shape, with what only the data tell.
ModelSpec ModelOf(const JobOrder& order) {
  ModelSpec model = order.spec.model;
  if (model.kind == ModelKind::kSoftmax) model.classes = order.labels.classes;
  return model;
}

bool NeedsAuc(const JobOrder& order) {
  return TaskOf(order.spec.model.kind) == TaskKind::kBinary;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobRun>> JobRun::Create(JobOrder order,
                                                       JobMemory memory,
                                                       WorkerParts parts) {
  SERAPH_ASSIGN_OR_RETURN(TableRouter router,
                          TableRouter::Make(order.tables, order.partitions,
                                            order.placements_version));
  const std::vector<ModelTable> wanted = ModelTables(ModelOf(order));
  if (wanted.size() != order.tables.size()) {
    return absl::InvalidArgumentError("the tables are not those of the model");
  }
  for (size_t t = 0; t < wanted.size(); ++t) {
    if (wanted[t].name != order.tables[t].name ||
        wanted[t].width != order.tables[t].width) {
      return absl::InvalidArgumentError(
          absl::StrCat("table '", order.tables[t].name,
                       "' is not the model's '", wanted[t].name, "'"));
    }
  }
  return std::unique_ptr<JobRun>(
      new JobRun(std::move(order), memory, std::move(parts),
                 std::make_shared<const TableRouter>(std::move(router))));
}

JobRun::JobRun(JobOrder order, JobMemory memory, WorkerParts parts,
               std::shared_ptr<const TableRouter> router)
    : order_(std::move(order)),
      memory_(memory),
      parts_(std::move(parts)),
      router_(std::move(router)) {
  const RecordRules rules = RulesOf(order_.spec);
  // Training reads all of its data every epoch, and so does validation: what
  // may stay in memory is shared by size, one quarter for the validation.
  const uint64_t for_validation =
      order_.validation.has_value() ? memory_.cache_bytes / 4 : 0;
  train_ = std::make_unique<BlockSource>(order_.train, rules, order_.labels,
                                         memory_.cache_bytes - for_validation,
                                         parts_.spool);
  if (order_.validation.has_value()) {
    RecordRules whole = rules;
    whole.validation_fraction = 0;
    validation_ = std::make_unique<BlockSource>(
        *order_.validation, whole, order_.labels, for_validation, parts_.spool);
  }
}

JobRun::~JobRun() {
  std::map<uint32_t, RunningRank> ranks;
  {
    MutexLock lock(&mu_);
    ranks.swap(ranks_);
  }
  // First all are told, then each is waited for.
  for (auto& [rank, running] : ranks) {
    if (running.runner != nullptr) running.runner->Stop();
  }
}

std::unique_ptr<RankRunner> JobRun::MakeRunner(
    uint32_t rank, uint32_t attempt,
    std::shared_ptr<const TableRouter> router) {
  const JobSpec& spec = order_.spec;
  const EpochStreamOptions stream{.part = RecordPart::kTrain,
                                  .seed = spec.seed,
                                  .ranks = spec.ranks,
                                  .rank = rank,
                                  .shuffle = spec.train.shuffle};
  auto train = std::make_unique<DataStream>(train_.get(), stream);
  std::unique_ptr<DataStream> validation;
  if (spec.data.HasValidation()) {
    EpochStreamOptions share = stream;
    share.shuffle = false;
    share.part =
        validation_ != nullptr ? RecordPart::kTrain : RecordPart::kValidation;
    validation = std::make_unique<DataStream>(
        validation_ != nullptr ? validation_.get() : train_.get(), share);
  }

  auto peers = std::make_unique<GrpcRankPeers>(
      GrpcRankPeersOptions{.job = order_.job,
                           .generation = order_.generation,
                           .rank = rank,
                           .attempt = attempt,
                           .worker_incarnation = parts_.incarnation,
                           .call_timeout = parts_.call_timeout,
                           .lease = order_.lease},
      parts_.links, parts_.scheduler);

  const RankRunnerOptions options{
      .rank = {.rank = rank,
               .epochs = spec.train.epochs,
               .batch_size = spec.train.batch_size,
               .validation_batch_size =
                   std::max<size_t>(1024, spec.train.batch_size),
               .pipeline = spec.sync.pipeline,
               .epoch_barrier = order_.epoch_barrier,
               .skip_non_finite =
                   spec.train.on_non_finite == NonFiniteAction::kSkip,
               .needs_auc = NeedsAuc(order_),
               .clip_norm = spec.train.clip_norm},
      .client = {.job = order_.job,
                 .generation = order_.generation,
                 .rank = rank,
                 .attempt = attempt,
                 .limits = {.message_bytes = parts_.max_message_bytes / 4},
                 .error_feedback = spec.sync.mode != SyncMode::kBsp,
                 .retry_backoff = parts_.retry_backoff,
                 .retry_backoff_max = parts_.retry_backoff_max,
                 .lease = order_.lease,
                 .seed = parts_.incarnation + rank}};
  return std::make_unique<RankRunner>(
      options, MonotonicClock::Real(), std::move(router), std::move(peers),
      MakeModel(ModelOf(order_)), std::move(train), std::move(validation));
}

absl::Status JobRun::StartRank(uint32_t rank, uint32_t attempt) {
  if (rank >= order_.spec.ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, ": the job has ", order_.spec.ranks));
  }
  std::shared_ptr<const TableRouter> router;
  {
    MutexLock lock(&mu_);
    if (attempt <= ranks_[rank].attempt) return absl::OkStatus();
    router = router_;
  }
  std::unique_ptr<RankRunner> runner =
      MakeRunner(rank, attempt, std::move(router));
  {
    MutexLock lock(&mu_);
    RunningRank& place = ranks_[rank];
    if (attempt <= place.attempt) return absl::OkStatus();
    place.attempt = attempt;
    place.runner.swap(runner);
    place.runner->UpdateRouter(router_);  // It may have changed meanwhile.
    place.runner->Start();
  }
  return absl::OkStatus();  // An older attempt is stopped here.
}

absl::Status JobRun::UpdatePlacements(
    uint64_t version, std::vector<PartitionPlacement> placements) {
  {
    MutexLock lock(&mu_);
    if (version <= router_->version()) return absl::OkStatus();
  }
  SERAPH_ASSIGN_OR_RETURN(
      TableRouter made,
      TableRouter::Make(order_.tables, std::move(placements), version));
  auto router = std::make_shared<const TableRouter>(std::move(made));
  MutexLock lock(&mu_);
  if (version <= router_->version()) return absl::OkStatus();
  router_ = router;
  for (auto& [rank, running] : ranks_) {
    if (running.runner != nullptr) running.runner->UpdateRouter(router);
  }
  return absl::OkStatus();
}

void JobRun::AskSchedulerAnew() {
  MutexLock lock(&mu_);
  for (auto& [rank, running] : ranks_) {
    if (running.runner != nullptr) running.runner->AskSchedulerAnew();
  }
}

void JobRun::WindDown() {
  MutexLock lock(&mu_);
  for (auto& [rank, running] : ranks_) {
    if (running.runner != nullptr) running.runner->WindDown();
  }
}

uint64_t JobRun::BytesWith(absl::Span<const uint32_t> ranks) const {
  MutexLock lock(&mu_);
  std::set<uint32_t> all(ranks.begin(), ranks.end());
  for (const auto& [rank, running] : ranks_) all.insert(rank);
  return memory_.rank_bytes * all.size() + memory_.cache_bytes;
}

size_t JobRun::ranks() const {
  MutexLock lock(&mu_);
  size_t running = 0;
  for (const auto& [rank, one] : ranks_) {
    if (one.runner != nullptr && one.runner->running()) ++running;
  }
  return running;
}

}  // namespace seraph
