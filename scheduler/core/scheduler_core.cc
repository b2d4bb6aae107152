#include "scheduler/core/scheduler_core.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "scheduler/store/stored_state_codec.h"

namespace seraph {

SchedulerCore::SchedulerCore(const SchedulerOptions& options, Moment start)
    : SchedulerCore(options, StoredState(), start) {}

absl::StatusOr<std::unique_ptr<SchedulerCore>> SchedulerCore::Restore(
    const SchedulerOptions& options, const StateRecords& records,
    Moment start) {
  SERAPH_ASSIGN_OR_RETURN(const StoredState stored, DecodeState(records));
  return std::unique_ptr<SchedulerCore>(
      new SchedulerCore(options, stored, start));
}

SchedulerCore::SchedulerCore(const SchedulerOptions& options,
                             const StoredState& stored, Moment start)
    : options_(options),
      registry_(options.heartbeat_timeout, start.steady, stored.nodes),
      links_(2 * options.heartbeat_timeout) {
  stored_nodes_ = registry_.known_version();
  for (const StoredState::Job& job : stored.jobs) {
    const std::string& id = job.job.id;
    last_number_ = std::max(last_number_, job.job.number);
    jobs_.emplace(
        id, std::make_unique<JobMachine>(job, options_.job, &last_order_, start,
                                         &first_orders_));
    order_of_jobs_.push_back(id);
    const std::string& submission = job.request->submission_id;
    if (!submission.empty()) submissions_[submission] = id;
    if (job.job.view.started.has_value()) ++started_jobs_;
    Stored& known = stored_[id];
    known.request = job.request.get();
    known.plan = job.plan.get();
    known.job = job.job;
  }
}

SchedulerCore::~SchedulerCore() = default;

// What each event does; returns the answer to its sender.
struct SchedulerCore::Handler {
  SchedulerCore& core;
  Moment now;
  Outcome& outcome;

  Orders* out() { return &outcome.orders; }

  absl::Status operator()(const NodeRegistered& event) {
    core.LoseNodes(core.registry_.Register(event.node, now.steady), now, out());
    for (const auto& [id, job] : core.jobs_) {
      job->ReturnNode(event.node, now, out());
    }
    for (const HeldPartition& held : event.held) {
      JobMachine* job = core.FindMachine(held.job);
      if (job == nullptr) {
        // Of a scheduler that kept nothing, or forgotten since.
        out()->push_back({++core.last_order_,
                          {held.job, held.generation},
                          event.node,
                          DropJob{}});
        continue;
      }
      outcome.fatal.Update(job->FindHeld(event.node, held.generation,
                                         held.table, held.partition, held.epoch,
                                         now, out()));
    }
    return outcome.fatal;
  }

  absl::Status operator()(const NodeHeartbeat& event) {
    absl::Status known = core.registry_.Heartbeat(event.name, event.incarnation,
                                                  event.load, now.steady);
    if (!known.ok() || event.silent_peers.empty()) return known;
    core.links_.Report(event.incarnation, event.silent_peers, now.steady);
    for (const auto& [id, job] : core.jobs_) {
      job->Complain(event.incarnation, event.silent_peers, core.links_, now,
                    out());
    }
    return known;
  }

  absl::Status operator()(const NodeDrained& event) {
    return core.registry_.Drain(event.name, event.incarnation, event.leaving);
  }

  absl::Status operator()(const NodeLeft& event) {
    std::optional<LostNode> left =
        core.registry_.Leave(event.name, event.incarnation);
    if (left.has_value()) core.LoseNodes({*std::move(left)}, now, out());
    return absl::OkStatus();
  }

  absl::Status operator()(const JobSubmitted& event) {
    const std::string& submission = event.request.submission_id;
    if (const auto known = core.submissions_.find(submission);
        !submission.empty() && known != core.submissions_.end()) {
      const JobRequest& other = core.FindMachine(known->second)->request();
      if (other.spec == event.request.spec &&
          other.base_directory == event.request.base_directory) {
        outcome.job = known->second;
        return absl::OkStatus();
      }
      return absl::AlreadyExistsError(
          absl::StrCat("submission id '", submission, "' is that of job ",
                       known->second, ", which is another one"));
    }
    if (core.jobs_.contains(event.id)) {
      return absl::AlreadyExistsError(
          absl::StrCat("there is a job ", event.id, " already"));
    }
    const size_t pending = core.CountJobs(JobState::kPending);
    if (pending >= core.options_.max_pending_jobs) {
      return absl::ResourceExhaustedError(
          absl::StrCat(pending, " jobs wait already; cancel some"));
    }
    const uint32_t replicas = event.request.spec.tables.replicas;
    const size_t servers = core.registry_.Alive(NodeRole::kServer).size();
    if (servers > 0 && replicas > servers) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tables.replicas: ", replicas, " copies of each partition need as ",
          "many servers, but there ", servers == 1 ? "is " : "are ", servers,
          "; start more, or lower it"));
    }
    core.jobs_.emplace(
        event.id, std::make_unique<JobMachine>(
                      JobRef{event.id, 1}, event.request, core.options_.job,
                      &core.last_order_, ++core.last_number_, now, out()));
    core.order_of_jobs_.push_back(event.id);
    if (!submission.empty()) core.submissions_[submission] = event.id;
    outcome.job = event.id;
    return absl::OkStatus();
  }

  absl::Status operator()(const JobCancelled& event) {
    JobMachine* job = core.FindMachine(event.id);
    if (job == nullptr) return NoSuchJob(event.id);
    job->Cancel(now, out());
    return absl::OkStatus();
  }

  absl::Status operator()(const JobPaused& event) {
    JobMachine* job = core.FindMachine(event.id);
    if (job == nullptr) return NoSuchJob(event.id);
    return job->Pause(event.waiter, now, out());
  }

  absl::Status operator()(const JobResumed& event) {
    JobMachine* job = core.FindMachine(event.id);
    if (job == nullptr) return NoSuchJob(event.id);
    return job->Resume(now, out());
  }

  absl::Status operator()(const CheckpointAsked& event) {
    JobMachine* job = core.FindMachine(event.id);
    if (job == nullptr) return NoSuchJob(event.id);
    return job->MakeCheckpoint(event.waiter, now, out());
  }

  absl::Status operator()(const RankEnded& event) {
    JobMachine* job = core.FindMachine(event.job.id);
    if (job == nullptr) return NoSuchJob(event.job.id);
    return job->EndRank(event.job, event.rank, event.incarnation, event.status,
                        now, out());
  }

  absl::Status operator()(const EpochShared& event) {
    JobMachine* job = core.FindMachine(event.job.id);
    if (job == nullptr) return NoSuchJob(event.job.id);
    return job->ShareEpoch(event.job, event.share, event.waiter, now, out());
  }

  absl::Status operator()(const OrderReplied& event) {
    for (const auto& [id, job] : core.jobs_) {
      if (job->Take(event.reply, now, out())) break;
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const OrderProgressed& event) {
    for (const auto& [id, job] : core.jobs_) {
      job->TakeProgress(event.order, event.fraction);
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const SchedulerStops&) {
    if (core.options_.keeps_state) return absl::OkStatus();
    for (const auto& [id, job] : core.jobs_) job->Abort(now, out());
    return absl::OkStatus();
  }

  absl::Status operator()(const TimePassed&) {
    core.LoseNodes(core.registry_.Tick(now.steady), now, out());
    for (const auto& [id, job] : core.jobs_) job->Tick(now, out());
    return absl::OkStatus();
  }

  static absl::Status NoSuchJob(absl::string_view id) {
    return absl::NotFoundError(absl::StrCat("there is no job '", id, "'"));
  }
};

Outcome SchedulerCore::Handle(const Event& event, Moment now) {
  Outcome outcome;
  outcome.orders.swap(first_orders_);
  outcome.status = std::visit(Handler{*this, now, outcome}, event);
  if (std::holds_alternative<OrderProgressed>(event)) return outcome;
  if (const auto* heartbeat = std::get_if<NodeHeartbeat>(&event)) {
    // The most frequent event, which hardly ever changes anything.
    if (heartbeat->silent_peers.empty()) return outcome;
  }
  Advance(now, &outcome.orders);
  ForgetOldJobs(&outcome.orders);
  outcome.writes = EncodeChanges(FindChanges());
  return outcome;
}

const JobView* SchedulerCore::Find(absl::string_view id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second->view();
}

std::shared_ptr<const JobPlan> SchedulerCore::FindPlan(
    absl::string_view id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : it->second->placed_plan();
}

std::vector<JobView> SchedulerCore::Jobs() const {
  std::vector<JobView> views;
  for (auto id = order_of_jobs_.rbegin(); id != order_of_jobs_.rend(); ++id) {
    views.push_back(jobs_.at(*id)->view());
  }
  return views;
}

size_t SchedulerCore::CountJobs(JobState state) const {
  return std::count_if(jobs_.begin(), jobs_.end(), [state](const auto& job) {
    return job.second->view().state == state;
  });
}

bool SchedulerCore::IsFreed(absl::string_view id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() || it->second->freed();
}

bool SchedulerCore::IsAllFreed() const {
  return std::all_of(jobs_.begin(), jobs_.end(),
                     [](const auto& job) { return job.second->freed(); });
}

JobMachine* SchedulerCore::FindMachine(absl::string_view id) {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : it->second.get();
}

void SchedulerCore::LoseNodes(const std::vector<LostNode>& lost, Moment now,
                              Orders* orders) {
  for (const LostNode& node : lost) {
    std::string what;
    switch (node.reason) {
      case LossReason::kSilent:
        what =
            absl::StrCat("died (no heartbeat for ",
                         absl::FormatDuration(options_.heartbeat_timeout), ")");
        break;
      case LossReason::kRestarted:
        what = "was restarted and has lost all it held";
        break;
      case LossReason::kLeft:
        what = "was stopped";
        break;
    }
    orders->push_back({0, {}, std::nullopt, NoteLostNode{node.node, what}});
    for (const auto& [id, job] : jobs_) {
      job->LoseNode(node.node, what, now, orders);
    }
  }
}

std::map<uint64_t, HeldReplicas> SchedulerCore::HeldByServer() const {
  std::map<uint64_t, HeldReplicas> held;
  for (const auto& [id, job] : jobs_) job->AddHeld(&held);
  return held;
}

size_t SchedulerCore::CountDegraded() const {
  size_t degraded = 0;
  for (const auto& [id, job] : jobs_) degraded += job->CountDegraded();
  return degraded;
}

bool SchedulerCore::IsDrained(uint64_t incarnation) const {
  if (!registry_.IsDraining(incarnation)) return false;
  return std::none_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    return job.second->HoldsSomethingOn(incarnation);
  });
}

ClusterNodes SchedulerCore::FindNodes() const {
  ClusterNodes nodes;
  nodes.stops = registry_.AllServersStop();
  const std::map<uint64_t, HeldReplicas> held = HeldByServer();
  for (Node& server : registry_.Alive(NodeRole::kServer)) {
    ServerRoom& room = nodes.servers.emplace_back();
    room.draining = registry_.IsDraining(server.incarnation);
    if (const auto it = held.find(server.incarnation); it != held.end()) {
      room.held = it->second.primaries + it->second.backups;
    }
    room.node = std::move(server);
  }
  for (Node& worker : registry_.Alive(NodeRole::kWorker)) {
    if (registry_.IsDraining(worker.incarnation)) {
      nodes.draining.insert(worker.incarnation);
      continue;
    }
    WorkerRoom& room = nodes.workers.emplace_back();
    for (const auto& [id, job] : jobs_) room.taken += job->RanksOn(worker);
    room.node = std::move(worker);
  }
  return nodes;
}

void SchedulerCore::Advance(Moment now, Orders* orders) {
  std::optional<ClusterNodes> nodes;
  // Running jobs first: what they have lost. Then the oldest first; one that
  // has to wait holds up nobody behind it.
  for (const JobState state : {JobState::kRunning, JobState::kPending}) {
    for (const std::string& id : order_of_jobs_) {
      JobMachine& job = *jobs_.at(id);
      if (job.view().state != state) continue;
      if (!nodes.has_value()) nodes = FindNodes();
      if (state == JobState::kRunning) {
        job.Advance(&*nodes, now, orders);
      } else if (job.TryStart(&*nodes, started_jobs_, now, orders)) {
        ++started_jobs_;
      }
      // What it has freed by its end is there for the next one.
      if (HasEnded(job.view().state)) nodes.reset();
    }
  }
}

void SchedulerCore::ForgetOldJobs(Orders* orders) {
  auto id = order_of_jobs_.begin();
  while (jobs_.size() > options_.max_jobs && id != order_of_jobs_.end()) {
    const auto job = jobs_.find(*id);
    if (!job->second->freed()) {
      ++id;
      continue;
    }
    orders->push_back({0, {*id, 1}, std::nullopt, ForgetJob{}});
    forgotten_.push_back(*id);
    stored_.erase(*id);
    submissions_.erase(job->second->request().submission_id);
    jobs_.erase(job);
    id = order_of_jobs_.erase(id);
  }
}

StoredChanges SchedulerCore::FindChanges() {
  StoredChanges changes;
  changes.forgotten.swap(forgotten_);
  for (const auto& [id, job] : jobs_) {
    Stored& stored = stored_[id];
    if (stored.final) continue;
    if (stored.request != job->stored_request().get()) {
      stored.request = job->stored_request().get();
      changes.requests[id] = job->stored_request();
    }
    if (stored.plan != job->stored_plan().get()) {
      stored.plan = job->stored_plan().get();
      changes.plans[id] = job->stored_plan();
    }
    StoredJob record = job->Record();
    if (record != stored.job) {
      stored.job = record;
      changes.jobs[id] = std::move(record);
    }
    stored.final = job->freed();
  }
  if (stored_nodes_ != registry_.known_version()) {
    stored_nodes_ = registry_.known_version();
    changes.nodes = registry_.Known();
  }
  return changes;
}

}  // namespace seraph
