#include "server/service/job_directory.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"
#include "common/table/table_validation.h"
#include "server/service/answer_join.h"
#include "server/store/make_row_store.h"

namespace seraph {
namespace {

// What lists of keys of one job may take here, beside its partitions: a share
// of what those may, and no more than so many bytes.
constexpr uint64_t kListShare = 16;
constexpr uint64_t kMostListBytes = uint64_t{1} << 30;

// What the rows of a dense range take at least: their weights.
uint64_t LeastBytes(const TableSpec& table, const KeyRange& range) {
  if (table.kind == TableKind::kSparse) return 0;
  return (range.last - range.first + 1) * table.width * sizeof(float);
}

KeyRange RangeOf(const JobSetup& setup, ServedJob::Place place) {
  return Partitioning(setup.tables[place.first]).PartitionRange(place.second);
}

PartitionOptions OptionsOf(const JobSetup& setup, ServedJob::Place place) {
  PartitionOptions options;
  options.table = setup.tables[place.first];
  options.table_index = place.first;
  options.partition = place.second;
  options.ranks = setup.ranks;
  options.sync = setup.sync;
  options.steps_per_epoch = setup.steps_per_epoch;
  options.epochs = setup.epochs;
  options.skip_non_finite = setup.skip_non_finite;
  options.is_ledger = place == ServedJob::Place{0, 0};
  return options;
}

ServedJob::Place PlaceOf(const ReplicaOrder& order) {
  return {order.table, order.partition};
}

// Whether there can be such a job, and such partitions of it.
absl::Status Check(const JobSetup& setup,
                   const std::vector<ReplicaOrder>& orders) {
  for (const TableSpec& table : setup.tables) {
    SERAPH_RETURN_IF_ERROR(ValidateTable(table));
  }
  if (setup.ranks == 0) {
    return absl::InvalidArgumentError("a job has at least one rank");
  }
  for (const ReplicaOrder& order : orders) {
    if (order.table >= setup.tables.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no table ", order.table));
    }
    const TableSpec& table = setup.tables[order.table];
    const Partitioning cut(table);
    if (order.partition >= cut.partitions()) {
      return absl::InvalidArgumentError(
          absl::StrCat("table '", table.name, "' has ", cut.partitions(),
                       " partitions, not ", order.partition + 1));
    }
  }
  return absl::OkStatus();
}

absl::Status OtherGeneration(const JobName& name, absl::string_view how,
                             absl::string_view reason) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "job ", name.id, ", generation ", name.generation, ": ", how)),
      reason);
}

}  // namespace

// An assignment under way.
struct JobDirectory::Restoring {
  Assignment assignment;
  std::shared_ptr<const JobSetup> setup;

  Mutex mu;
  size_t missing ABSL_GUARDED_BY(mu) = 0;
  absl::Status status ABSL_GUARDED_BY(mu);
  std::vector<std::unique_ptr<PartitionState>> states ABSL_GUARDED_BY(mu);

  std::vector<Confirm> waiting;  // Of the directory's lock.
};

JobDirectory::JobDirectory(const JobDirectoryParts& parts,
                           const JobDirectoryOptions& options)
    : parts_(parts),
      options_(options),
      around_{
          .executor = parts.executor,
          .clock = parts.clock,
          .peers = parts.peers,
          .budget = std::make_shared<MemoryBudget>(options.memory_limit_bytes),
          .noop = options.noop},
      admission_(std::make_shared<Admission>(
          options.inflight_limit_bytes > 0 ? options.inflight_limit_bytes
                                           : options.memory_limit_bytes / 8,
          options.incarnation)) {
  MutexLock lock(&door_->mu);
  door_->directory = this;
}

JobDirectory::~JobDirectory() { Stop(); }

void JobDirectory::Stop() {
  {
    MutexLock lock(&door_->mu);
    door_->directory = nullptr;
  }
  std::map<std::string, Known> gone;
  {
    MutexLock lock(&mu_);
    gone.swap(jobs_);
  }
  for (const auto& [id, known] : gone) Close(known.job, [] {});
}

void JobDirectory::Close(const JobPtr& job, absl::AnyInvocable<void()> done) {
  const size_t count = job == nullptr ? 0 : job->partitions.size();
  auto join = AnswerJoin<int>::Of(
      count, [done = std::move(done)](std::vector<int>) mutable { done(); });
  if (count == 0) return;
  size_t index = 0;
  for (const auto& [place, actor] : job->partitions) {
    actor->Close([join, i = index++] { join->Set(i, 0); });
  }
}

absl::StatusOr<JobDirectory::JobPtr> JobDirectory::Enter(const JobName& name,
                                                         Known* known) {
  if (name.generation <= known->dropped) {
    return OtherGeneration(name, "it was dropped here", "GENERATION_STALE");
  }
  if (name.generation < known->generation) {
    return OtherGeneration(
        name, absl::StrCat("generation ", known->generation, " is here"),
        "GENERATION_STALE");
  }
  if (name.generation == known->generation) return JobPtr();
  known->generation = name.generation;
  known->epochs.clear();
  known->restoring = nullptr;
  return std::exchange(known->job, nullptr);
}

absl::Status JobDirectory::CheckMemory(
    const JobSetup& setup, const std::vector<ReplicaOrder>& orders) const {
  uint64_t least_bytes = std::max<int64_t>(0, around_.budget->used_bytes);
  for (const ReplicaOrder& order : orders) {
    least_bytes +=
        LeastBytes(setup.tables[order.table], RangeOf(setup, PlaceOf(order)));
  }
  if (least_bytes <= around_.budget->limit_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the job's dense tables would bring this server to ", least_bytes,
      " bytes, more than server.memory_limit (", around_.budget->limit_bytes,
      "); raise it, or use more servers"));
}

std::shared_ptr<ServedJob> JobDirectory::NewJob(
    const JobName& name, std::shared_ptr<const JobSetup> setup) const {
  auto job = std::make_shared<ServedJob>();
  job->name = name;
  job->setup = std::move(setup);
  job->admission = std::make_shared<JobAdmission>(admission_);
  job->lists = std::make_shared<KeyListCache>(
      std::min(kMostListBytes, options_.memory_limit_bytes / kListShare));
  return job;
}

std::shared_ptr<PartitionActor> JobDirectory::NewActor(
    const ServedJob& job, Place place,
    std::unique_ptr<PartitionState> state) const {
  const PartitionOptions options = OptionsOf(*job.setup, place);
  const KeyRange range = RangeOf(*job.setup, place);
  ReplicaSetup replica;
  replica.self = options_.incarnation;
  replica.lease = job.setup->lease;
  replica.min_in_sync = job.setup->min_in_sync;
  return PartitionActor::Make(
      job.name, range,
      std::make_unique<Partition>(
          options, replica,
          [table = options.table, range] { return MakeRowStore(table, range); },
          std::move(state)),
      job.setup->lease, around_);
}

void JobDirectory::Assign(Assignment assignment, Confirm done) {
  const JobName name = assignment.job;
  if (absl::Status refusal = Check(assignment.setup, assignment.replicas);
      !refusal.ok()) {
    return done(std::move(refusal));
  }
  auto restoring = std::make_shared<Restoring>();
  restoring->setup = std::make_shared<const JobSetup>(assignment.setup);
  restoring->assignment = std::move(assignment);
  JobPtr gone;
  absl::Status refusal;
  bool repeat = false;
  {
    MutexLock lock(&mu_);
    Known& known = jobs_[name.id];
    repeat = known.assigned == name.generation &&
             known.generation == name.generation &&
             known.dropped < name.generation &&
             !IsPlanted(PlantedBug::kRepeatRestore);
    if (repeat && known.restoring != nullptr) {
      known.restoring->waiting.push_back(std::move(done));
      return;
    }
    if (!repeat) {
      absl::StatusOr<JobPtr> entered = Enter(name, &known);
      refusal = entered.status();
      if (entered.ok()) {
        gone = *std::move(entered);
        known.assigned = name.generation;
        known.restoring = restoring;
        restoring->waiting.push_back(std::move(done));
      }
    }
  }
  if (repeat || !refusal.ok()) return done(refusal);
  // What was there before makes room first.
  Close(gone, [door = door_, restoring] {
    MutexLock lock(&door->mu);
    if (door->directory != nullptr) door->directory->BeginAssign(restoring);
  });
}

void JobDirectory::BeginAssign(const std::shared_ptr<Restoring>& restoring) {
  const std::vector<ReplicaOrder>& replicas = restoring->assignment.replicas;
  const absl::Status fits = CheckMemory(*restoring->setup, replicas);
  {
    MutexLock lock(&restoring->mu);
    restoring->status = fits;
    restoring->missing = fits.ok() ? replicas.size() : 0;
    restoring->states.resize(replicas.size());
  }
  if (!fits.ok() || replicas.empty()) {
    parts_.files->Schedule([this, restoring] { FinishAssign(restoring); });
    return;
  }
  for (size_t i = 0; i < replicas.size(); ++i) {
    parts_.files->Schedule([this, restoring, i] { Restore(restoring, i); });
  }
}

void JobDirectory::Restore(const std::shared_ptr<Restoring>& restoring,
                           size_t index) {
  const Assignment& assignment = restoring->assignment;
  const Place place = PlaceOf(assignment.replicas[index]);
  const auto make = [&]() -> absl::StatusOr<std::unique_ptr<PartitionState>> {
    {
      // An error of another one: it is of no use any more.
      MutexLock lock(&restoring->mu);
      SERAPH_RETURN_IF_ERROR(restoring->status);
    }
    PartitionOptions options = OptionsOf(*restoring->setup, place);
    const KeyRange range = RangeOf(*restoring->setup, place);
    if (assignment.restore != nullptr) {
      return assignment.restore(options, range);
    }
    SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<RowStore> store,
                            MakeRowStore(options.table, range));
    return std::make_unique<PartitionState>(std::move(options),
                                            std::move(store));
  };
  absl::StatusOr<std::unique_ptr<PartitionState>> state = make();
  {
    MutexLock lock(&restoring->mu);
    if (state.ok()) {
      restoring->states[index] = *std::move(state);
    } else if (restoring->status.ok()) {
      restoring->status = state.status();
    }
    if (--restoring->missing > 0) return;
  }
  FinishAssign(restoring);
}

void JobDirectory::FinishAssign(const std::shared_ptr<Restoring>& restoring) {
  const Assignment& assignment = restoring->assignment;
  std::shared_ptr<ServedJob> job = NewJob(assignment.job, restoring->setup);
  absl::Status status;
  {
    MutexLock lock(&restoring->mu);
    status = restoring->status;
    for (size_t i = 0; status.ok() && i < restoring->states.size(); ++i) {
      const ReplicaOrder& order = assignment.replicas[i];
      const Place place = PlaceOf(order);
      job->partitions[place] =
          NewActor(*job, place, std::move(restoring->states[i]));
      job->partitions[place]->Configure(order, [](ReplicaState) {});
      job->epochs[place] = order.epoch;
    }
    restoring->states.clear();
  }
  std::vector<Confirm> waiting;
  JobPtr gone;
  {
    MutexLock lock(&mu_);
    Known& known = jobs_[assignment.job.id];
    waiting.swap(restoring->waiting);
    if (known.restoring != restoring) {
      gone = std::move(job);
      status = OtherGeneration(assignment.job, "it is over here",
                               "GENERATION_STALE");
    } else {
      known.restoring = nullptr;
      if (status.ok()) {
        known.epochs = job->epochs;
        gone = std::exchange(known.job, std::move(job));
      } else {
        known.assigned = 0;  // Nothing was done: it may be ordered again.
      }
    }
  }
  Close(gone, [] {});
  for (Confirm& done : waiting) done(status);
}

absl::Status JobDirectory::PlanConfigure(
    const JobName& name, const std::optional<JobSetup>& setup,
    const std::vector<ReplicaOrder>& orders, JobPtr* gone,
    std::vector<Step>* steps) {
  Known& known = jobs_[name.id];
  SERAPH_ASSIGN_OR_RETURN(*gone, Enter(name, &known));
  if (known.restoring != nullptr) {
    return absl::UnavailableError(
        absl::StrCat("job ", name.id, " is being restored here"));
  }
  const auto is_newer = [&](const ReplicaOrder& order) {
    const auto seen = known.epochs.find(PlaceOf(order));
    return seen == known.epochs.end() || order.epoch > seen->second;
  };
  std::vector<ReplicaOrder> joining;
  for (const ReplicaOrder& order : orders) {
    if (order.duty == ReplicaDuty::kJoin && is_newer(order)) {
      joining.push_back(order);
    }
  }
  std::shared_ptr<ServedJob> job;
  if (known.job != nullptr) {
    job = std::make_shared<ServedJob>(*known.job);
  } else if (!joining.empty()) {
    if (!setup.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "job ", name.id,
          " has nothing here, and the order does not say what its tables are"));
    }
    job = NewJob(name, std::make_shared<const JobSetup>(*setup));
  }
  if (!joining.empty()) {
    SERAPH_RETURN_IF_ERROR(Check(*job->setup, joining));
    SERAPH_RETURN_IF_ERROR(CheckMemory(*job->setup, joining));
  }

  for (const ReplicaOrder& order : orders) {
    const Place place = PlaceOf(order);
    const bool newer = is_newer(order);
    uint64_t& seen = known.epochs[place];
    seen = std::max(seen, order.epoch);
    Step& step = steps->emplace_back();
    step.state.table = order.table;
    step.state.partition = order.partition;
    step.state.epoch = seen;
    if (job == nullptr) continue;
    const auto held = job->partitions.find(place);
    if (held != job->partitions.end()) {
      step.actor = held->second;
      if (newer && order.duty == ReplicaDuty::kDrop) {
        job->partitions.erase(held);
      }
    } else if (newer && order.duty == ReplicaDuty::kJoin) {
      step.actor = NewActor(*job, place, nullptr);
      job->partitions[place] = step.actor;
    }
  }
  if (job != nullptr) {
    job->epochs = known.epochs;
    known.job = std::move(job);
  }
  return absl::OkStatus();
}

void JobDirectory::Configure(const JobName& name,
                             const std::optional<JobSetup>& setup,
                             std::vector<ReplicaOrder> orders, Told told) {
  std::vector<Step> steps;
  JobPtr gone;
  absl::Status refusal;
  {
    MutexLock lock(&mu_);
    refusal = PlanConfigure(name, setup, orders, &gone, &steps);
  }
  Close(gone, [] {});
  if (!refusal.ok()) return told(refusal);

  auto join = AnswerJoin<ReplicaState>::Of(
      steps.size(),
      [told = std::move(told)](std::vector<ReplicaState> states) mutable {
        told(std::move(states));
      });
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].actor == nullptr) {
      join->Set(i, std::move(steps[i].state));
      continue;
    }
    steps[i].actor->Configure(
        std::move(orders[i]),
        [join, i](ReplicaState state) { join->Set(i, std::move(state)); });
  }
}

absl::StatusOr<std::shared_ptr<const ServedJob>> JobDirectory::Find(
    const JobName& name) const {
  MutexLock lock(&mu_);
  const auto it = jobs_.find(name.id);
  if (it == jobs_.end() || name.generation <= it->second.dropped) {
    return absl::NotFoundError(
        absl::StrCat("job ", name.id, " has no partitions on this server"));
  }
  const Known& known = it->second;
  if (known.job != nullptr && (name.generation == known.generation ||
                               (IsPlanted(PlantedBug::kTakeNewerGeneration) &&
                                name.generation > known.generation))) {
    return known.job;
  }
  if (name.generation < known.generation) {
    return OtherGeneration(
        name, absl::StrCat("generation ", known.generation, " is here"),
        "GENERATION_STALE");
  }
  return OtherGeneration(name, "it is not here yet", "GENERATION_NEWER");
}

void JobDirectory::Drop(const JobName& name, Confirm done) {
  JobPtr gone;
  {
    MutexLock lock(&mu_);
    Known& known = jobs_[name.id];
    known.dropped = std::max(known.dropped, name.generation);
    if (known.generation <= name.generation) {
      gone = std::exchange(known.job, nullptr);
      known.restoring = nullptr;
      known.epochs.clear();
    }
  }
  Close(gone, [done = std::move(done)]() mutable { done(absl::OkStatus()); });
}

void JobDirectory::OnLinkBroken(uint64_t peer) {
  for (const JobPtr& job : All()) {
    for (const auto& [place, actor] : job->partitions) {
      actor->OnLinkBroken(peer);
    }
  }
}

void JobDirectory::Tick() {
  for (const JobPtr& job : All()) {
    for (const auto& [place, actor] : job->partitions) actor->Tick();
  }
}

std::vector<std::shared_ptr<const ServedJob>> JobDirectory::All() const {
  std::vector<std::shared_ptr<const ServedJob>> all;
  MutexLock lock(&mu_);
  for (const auto& [id, known] : jobs_) {
    if (known.job != nullptr) all.push_back(known.job);
  }
  return all;
}

std::vector<HeldPartition> JobDirectory::Held() const {
  std::vector<HeldPartition> held;
  for (const JobPtr& job : All()) {
    for (const auto& [place, actor] : job->partitions) {
      if (actor->gauges().duty == ReplicaDuty::kDrop) continue;
      held.push_back({.job = job->name.id,
                      .generation = job->name.generation,
                      .table = place.first,
                      .partition = place.second,
                      .epoch = job->EpochSeen(place.first, place.second)});
    }
  }
  return held;
}

std::vector<uint64_t> JobDirectory::SilentPeers() const {
  std::set<uint64_t> silent;
  for (const JobPtr& job : All()) {
    for (const auto& [place, actor] : job->partitions) {
      for (uint64_t peer : actor->complaints()) silent.insert(peer);
    }
  }
  return {silent.begin(), silent.end()};
}

}  // namespace seraph
