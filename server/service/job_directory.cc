#include "server/service/job_directory.h"

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"
#include "common/table/table_validation.h"
#include "server/store/make_row_store.h"

namespace seraph {
namespace {

// What the rows of a dense range take at least: their weights.
uint64_t LeastBytes(const TableSpec& table, const KeyRange& range) {
  if (table.kind == TableKind::kSparse) return 0;
  return (range.last - range.first + 1) * table.width * sizeof(float);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ServedJob>> JobDirectory::Build(
    const Assignment& assignment) {
  std::shared_ptr<ServedJob> job(new ServedJob, [this](ServedJob* gone) {
    reaper_.Schedule([gone] { delete gone; });
  });
  job->name = assignment.job;
  job->tables = assignment.tables;
  for (const TableSpec& table : assignment.tables) {
    SERAPH_RETURN_IF_ERROR(ValidateTable(table));
  }
  if (assignment.ranks == 0) {
    return absl::InvalidArgumentError("a job has at least one rank");
  }

  uint64_t least_bytes = budget_.used_bytes;
  for (const Assignment::Piece& piece : assignment.pieces) {
    if (piece.table >= assignment.tables.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no table ", piece.table));
    }
    const TableSpec& table = assignment.tables[piece.table];
    const Partitioning cut(table);
    if (piece.partition >= cut.partitions()) {
      return absl::InvalidArgumentError(
          absl::StrCat("table '", table.name, "' has ", cut.partitions(),
                       " partitions, not ", piece.partition + 1));
    }
    least_bytes += LeastBytes(table, cut.PartitionRange(piece.partition));
  }
  if (least_bytes > budget_.limit_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the job's dense tables would bring this server to ",
                     least_bytes, " bytes, more than server.memory_limit (",
                     budget_.limit_bytes, "); raise it, or use more servers"));
  }

  for (const Assignment::Piece& piece : assignment.pieces) {
    const TableSpec& table = assignment.tables[piece.table];
    SERAPH_ASSIGN_OR_RETURN(
        std::unique_ptr<RowStore> store,
        MakeRowStore(table,
                     Partitioning(table).PartitionRange(piece.partition)));
    const PartitionOptions options{
        .table = table,
        .table_index = piece.table,
        .partition = piece.partition,
        .ranks = assignment.ranks,
        .sync = assignment.sync,
        .steps_per_epoch = assignment.steps_per_epoch,
        .epochs = assignment.epochs,
        .skip_non_finite = assignment.skip_non_finite,
        .is_ledger = piece.table == 0 && piece.partition == 0,
    };
    auto make_store = [table, range = store->range()] {
      return MakeRowStore(table, range);
    };
    auto partition = std::make_unique<Partition>(
        options, ReplicaOptions{}, std::move(make_store),
        std::make_unique<PartitionState>(options, std::move(store)));
    Effects effects;  // None: the replica is alone.
    partition->Configure({.table = piece.table,
                          .partition = piece.partition,
                          .epoch = piece.epoch,
                          .duty = ReplicaDuty::kLead},
                         absl::ZeroDuration(), &effects);
    job->partitions[{piece.table, piece.partition}] =
        std::make_unique<PartitionActor>(std::move(partition), executor_,
                                         &budget_);
  }
  return job;
}

absl::Status JobDirectory::Assign(const Assignment& assignment) {
  const JobName& name = assignment.job;
  {
    MutexLock lock(&mu_);
    if (const auto it = dropped_.find(name.id);
        it != dropped_.end() && name.generation <= it->second) {
      return WithReason(absl::FailedPreconditionError(absl::StrCat(
                            "job ", name.id, ", generation ", name.generation,
                            ": it was dropped here")),
                        "GENERATION_STALE");
    }
    if (const auto it = jobs_.find(name.id); it != jobs_.end()) {
      const uint64_t here = it->second->name.generation;
      if (name.generation == here) return absl::OkStatus();
      if (name.generation < here) {
        return WithReason(absl::FailedPreconditionError(absl::StrCat(
                              "job ", name.id, ", generation ", name.generation,
                              ": generation ", here, " is here")),
                          "GENERATION_STALE");
      }
    }
  }
  SERAPH_ASSIGN_OR_RETURN(std::shared_ptr<const ServedJob> job,
                          Build(assignment));
  {
    MutexLock lock(&mu_);
    const auto dropped = dropped_.find(name.id);
    std::shared_ptr<const ServedJob>& place = jobs_[name.id];
    // Another copy of this order, or a newer one, may have come meanwhile.
    if ((place == nullptr || place->name.generation < name.generation) &&
        (dropped == dropped_.end() || dropped->second < name.generation)) {
      place.swap(job);
    }
    if (place == nullptr) jobs_.erase(name.id);
  }
  return absl::OkStatus();  // What was replaced goes here, without the lock.
}

absl::StatusOr<std::shared_ptr<const ServedJob>> JobDirectory::Find(
    const JobName& name) const {
  MutexLock lock(&mu_);
  const auto it = jobs_.find(name.id);
  if (it == jobs_.end()) {
    return absl::NotFoundError(
        absl::StrCat("job ", name.id, " has no partitions on this server"));
  }
  const uint64_t here = it->second->name.generation;
  if (name.generation == here) return it->second;
  return WithReason(
      absl::FailedPreconditionError(
          absl::StrCat("job ", name.id, ", generation ", name.generation,
                       ": generation ", here, " is here")),
      name.generation > here ? "GENERATION_NEWER" : "GENERATION_STALE");
}

void JobDirectory::Drop(const JobName& name) {
  std::shared_ptr<const ServedJob> gone;
  MutexLock lock(&mu_);
  uint64_t& highest = dropped_[name.id];
  highest = std::max(highest, name.generation);
  const auto it = jobs_.find(name.id);
  if (it != jobs_.end() && it->second->name.generation <= name.generation) {
    gone = std::move(it->second);
    jobs_.erase(it);
  }
}

void JobDirectory::DropAll() {
  std::map<std::string, std::shared_ptr<const ServedJob>> gone;
  MutexLock lock(&mu_);
  for (const auto& [id, job] : jobs_) {
    uint64_t& highest = dropped_[id];
    highest = std::max(highest, job->name.generation);
  }
  gone.swap(jobs_);
}

std::vector<std::shared_ptr<const ServedJob>> JobDirectory::All() const {
  std::vector<std::shared_ptr<const ServedJob>> all;
  MutexLock lock(&mu_);
  for (const auto& [id, job] : jobs_) all.push_back(job);
  return all;
}

}  // namespace seraph
