#include "tests/sim/sim_worker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/dataset_codec.h"
#include "common/wire/table_codec.h"

namespace seraph::testing {
namespace {

template <typename Request>
absl::StatusOr<std::vector<PartitionPlacement>> PlacementsOf(
    const Request& request) {
  std::vector<PartitionPlacement> placements;
  for (const v1::PartitionPlacement& message : request.partitions()) {
    SERAPH_ASSIGN_OR_RETURN(PartitionPlacement placement, FromProto(message));
    placements.push_back(std::move(placement));
  }
  return placements;
}

}  // namespace

SimWorker::SimWorker(ClusterWorld* world, int machine, Node node)
    : world_(*world), machine_(machine), node_(std::move(node)) {}

absl::Status SimWorker::Check(uint64_t incarnation, uint64_t term) {
  if (incarnation != node_.incarnation) {
    return WithReason(
        absl::FailedPreconditionError("the order is for another start"),
        "OTHER_INCARNATION");
  }
  return terms_.Admit(term);
}

SimLink* SimWorker::LinkTo(int machine) {
  std::unique_ptr<SimLink>& link = links_[machine];
  if (link == nullptr) {
    link = std::make_unique<SimLink>(&world_, machine_, machine);
  }
  return link.get();
}

absl::StatusOr<v1::ScanReply> SimWorker::Scan(const v1::ScanRequest& request) {
  if (request.incarnation() != node_.incarnation) {
    return absl::FailedPreconditionError("the order is for another start");
  }
  v1::ScanReply reply;
  ToProto(world_.job->Scanned(request.task().validation(),
                              request.task().file_index()),
          reply.mutable_facts());
  return reply;
}

absl::Status SimWorker::RunRanks(const v1::RunRanksRequest& request) {
  SERAPH_RETURN_IF_ERROR(Check(request.incarnation(), request.term()));
  const uint64_t generation = request.job().generation();
  const auto stopped = stopped_.find(request.job().id());
  JobRun& run = jobs_[request.job().id()];
  if ((stopped != stopped_.end() && generation <= stopped->second) ||
      generation < run.generation) {
    return WithReason(absl::FailedPreconditionError("an older generation"),
                      "GENERATION_STALE");
  }
  SERAPH_ASSIGN_OR_RETURN(auto placements, PlacementsOf(request));
  std::vector<TableSpec> tables;
  for (const v1::TableSpec& message : request.tables()) {
    SERAPH_ASSIGN_OR_RETURN(TableSpec table, FromProto(message));
    tables.push_back(std::move(table));
  }
  SERAPH_ASSIGN_OR_RETURN(
      TableRouter router,
      TableRouter::Make(std::move(tables), std::move(placements),
                        request.placements_version()));
  if (generation > run.generation) {
    run = JobRun();
    run.generation = generation;
  }
  if (run.router == nullptr || router.version() > run.router->version()) {
    run.router = std::make_shared<const TableRouter>(std::move(router));
    for (auto& [rank, driver] : run.ranks) driver->Update(run.router);
  }
  for (const v1::RankRef& rank : request.ranks()) {
    std::unique_ptr<SimRankDriver>& driver = run.ranks[rank.rank()];
    if (driver != nullptr && driver->attempt() >= rank.attempt()) continue;
    driver = std::make_unique<SimRankDriver>(
        &world_, machine_,
        SimRankDriver::Options{.job = request.job().id(),
                               .generation = generation,
                               .rank = rank.rank(),
                               .attempt = rank.attempt(),
                               .epoch_barrier = request.epoch_barrier(),
                               .worker = node_.incarnation},
        run.router, [this](int to) { return LinkTo(to); });
    driver->Start();
  }
  return absl::OkStatus();
}

absl::Status SimWorker::UpdatePlacements(
    const v1::UpdatePlacementsRequest& request) {
  SERAPH_RETURN_IF_ERROR(Check(request.incarnation(), request.term()));
  const auto it = jobs_.find(request.job().id());
  if (it == jobs_.end() ||
      it->second.generation != request.job().generation()) {
    return absl::NotFoundError("nothing of the job runs here");
  }
  JobRun& run = it->second;
  SERAPH_ASSIGN_OR_RETURN(auto placements, PlacementsOf(request));
  if (request.placements_version() <= run.router->version()) {
    return absl::OkStatus();
  }
  SERAPH_ASSIGN_OR_RETURN(
      TableRouter router,
      TableRouter::Make(run.router->tables(), std::move(placements),
                        request.placements_version()));
  run.router = std::make_shared<const TableRouter>(std::move(router));
  for (auto& [rank, driver] : run.ranks) driver->Update(run.router);
  return absl::OkStatus();
}

absl::Status SimWorker::StopJob(const v1::StopJobRequest& request) {
  SERAPH_RETURN_IF_ERROR(Check(request.incarnation(), request.term()));
  uint64_t& highest = stopped_[request.job().id()];
  highest = std::max<uint64_t>(highest, request.job().generation());
  const auto it = jobs_.find(request.job().id());
  if (it != jobs_.end() && it->second.generation <= highest) jobs_.erase(it);
  return absl::OkStatus();
}

bool SimWorker::runs_something() const {
  for (const auto& [id, job] : jobs_) {
    for (const auto& [rank, driver] : job.ranks) {
      if (!driver->ended()) return true;
    }
  }
  return false;
}

std::string SimWorker::Standing() const {
  std::string text;
  for (const auto& [job, run] : jobs_) {
    for (const auto& [rank, driver] : run.ranks) {
      absl::StrAppend(&text, driver->Standing(), "\n");
    }
  }
  return text;
}

}  // namespace seraph::testing
