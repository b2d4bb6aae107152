#include "scheduler/core/scheduler_core.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace seraph {

SchedulerCore::SchedulerCore(const SchedulerOptions& options, Moment start)
    : options_(options), registry_(options.heartbeat_timeout, start.steady) {}

SchedulerCore::~SchedulerCore() = default;

// What each event does; returns the answer to its sender.
struct SchedulerCore::Handler {
  SchedulerCore& core;
  Moment now;
  Outcome& outcome;

  Orders* out() { return &outcome.orders; }

  absl::Status operator()(const NodeRegistered& event) {
    core.LoseNodes(core.registry_.Register(event.node, now.steady), now, out());
    return absl::OkStatus();
  }

  absl::Status operator()(const NodeHeartbeat& event) {
    return core.registry_.Heartbeat(event.name, event.incarnation, event.load,
                                    now.steady);
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
    core.jobs_.emplace(
        event.id, std::make_unique<JobMachine>(JobRef{event.id, 1},
                                               event.request, core.options_.job,
                                               &core.last_order_, now, out()));
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
  outcome.status = std::visit(Handler{*this, now, outcome}, event);
  if (!std::holds_alternative<NodeHeartbeat>(event) &&
      !std::holds_alternative<OrderProgressed>(event)) {
    StartPending(now, &outcome.orders);
    ForgetOldJobs(&outcome.orders);
  }
  return outcome;
}

const JobView* SchedulerCore::Find(absl::string_view id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second->view();
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

std::vector<WorkerRoom> SchedulerCore::WorkerRooms() const {
  std::vector<WorkerRoom> rooms;
  for (Node& worker : registry_.Alive(NodeRole::kWorker)) {
    WorkerRoom& room = rooms.emplace_back();
    for (const auto& [id, job] : jobs_) room.taken += job->RanksOn(worker);
    room.node = std::move(worker);
  }
  return rooms;
}

void SchedulerCore::StartPending(Moment now, Orders* orders) {
  std::optional<std::vector<WorkerRoom>> workers;
  // Oldest first; one that has to wait holds up nobody behind it.
  for (const std::string& id : order_of_jobs_) {
    JobMachine& job = *jobs_.at(id);
    if (job.view().state != JobState::kPending) continue;
    if (!workers.has_value()) workers = WorkerRooms();
    const JobSpec& spec = job.request().spec;
    absl::StatusOr<NodeChoice> choice =
        ChooseNodes(registry_.Alive(NodeRole::kServer), *workers, spec.ranks,
                    spec.sync.mode == SyncMode::kBsp);
    if (choice.ok()) {
      job.Start(*std::move(choice), started_jobs_++, now, orders);
      workers.reset();
    } else {
      job.Wait(choice.status().message());
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
    submissions_.erase(job->second->request().submission_id);
    jobs_.erase(job);
    id = order_of_jobs_.erase(id);
  }
}

}  // namespace seraph
