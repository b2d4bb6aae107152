// Where the partitions of JobMachine's job are: their creation, and what
// follows from each change of their servers.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "scheduler/job/job_machine.h"
#include "scheduler/job/node_text.h"
#include "scheduler/placement/partition_placer.h"

namespace seraph {
namespace {

// That a server has for an answer to a new epoch of its replicas.
constexpr int kLeasesToAnswer = 2;

bool Concerns(const PartitionPlacement& placement, const Node& server) {
  return placement.primary.incarnation == server.incarnation ||
         std::any_of(placement.backups.begin(), placement.backups.end(),
                     [&](const Node& backup) {
                       return backup.incarnation == server.incarnation;
                     });
}

bool SamePrimaries(const std::vector<PartitionPlacement>& a,
                   const std::vector<PartitionPlacement>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) {
                      return x.primary.incarnation == y.primary.incarnation;
                    });
}

}  // namespace

void JobMachine::Place(Moment now, Orders* out) {
  if (servers_.empty()) {  // They have all gone meanwhile.
    roster_.GoBack();
    return Enter(JobPhase::kRecovering);
  }
  Enter(JobPhase::kPlacing);
  const uint32_t replicas = request_->spec.tables.replicas;
  map_ = std::make_unique<PartitionMap>(
      ReplicaOptions{.replicas = replicas, .arithmetic = arithmetic_},
      PlacePartitions(servers_, decided_plan_->tables, first_server_,
                      replicas));
  RefreshPlan();
  if (servers_.size() < replicas) {
    Log(absl::StrCat("there are ", servers_.size(), " servers for ", replicas,
                     " copies of each partition: some are missing"),
        now, out);
  }
  for (const Node& server : servers_) {
    AssignPartitions order{plan_, {}, std::nullopt, std::nullopt};
    for (const PartitionPlacement& placement : plan_->partitions) {
      if (Concerns(placement, server)) order.partitions.push_back(placement);
    }
    if (order.partitions.empty()) continue;
    if (origin_.has_value()) order.restore = origin_->name;
    if (request_->spec.checkpoint.has_value()) {
      order.proof = FolderProof{
          CheckpointPath(request_->spec, request_->base_directory, "", ref_.id),
          kFolderToken, /*read_only=*/ref_.generation > 1};
    }
    unplaced_.insert(server.incarnation);
    Send(server, std::move(order), now, out);
  }
}

void JobMachine::RefreshPlan() {
  auto plan = std::make_shared<JobPlan>(*decided_plan_);
  plan->job = ref_;
  plan->partitions = map_->Placements();
  plan->placements_version = map_->version();
  plan->lease = options_.lease;
  plan_ = std::move(plan);
  if (view_.least_in_sync != map_->LeastInSync()) {
    view_.least_in_sync = map_->LeastInSync();
    Changed();
  }
}

void JobMachine::OnPlaced(ClosedOrder closed, const Placed& placed, Moment now,
                          Orders* out) {
  const Node& server = *closed.order.to;
  if (placed.incarnation != server.incarnation ||
      placed.generation != ref_.generation) {
    // Of another life; what became of this one is yet to be told.
    return OnFailure(std::move(closed),
                     absl::UnavailableError("the answer is of another life"),
                     now, out);
  }
  unplaced_.erase(server.incarnation);
  if (!unplaced_.empty()) return;
  if (origin_.has_value()) return Train(now, out);
  Load(now, out);
}

void JobMachine::OnNotPlaced(const Node& server, const absl::Status& status,
                             Moment now, Orders* out) {
  if (ReasonOf(status) == "FOLDER_NOT_SHARED") {
    return Fail(absl::StrCat(Describe(server),
                             " does not see the folder of the job's "
                             "checkpoints: ",
                             status.message(),
                             "; put checkpoint.directory where the scheduler "
                             "and all servers see it at the same place"),
                now, out);
  }
  if (ReasonOf(status) == "FOLDER_NOT_WRITABLE") {
    return Fail(absl::StrCat(Describe(server),
                             " sees the folder of the job's checkpoints, but "
                             "cannot write there: ",
                             status.message(),
                             "; free some space, or permit it, and submit the "
                             "job again"),
                now, out);
  }
  const bool of_the_cut = status.code() == absl::StatusCode::kDataLoss ||
                          status.code() == absl::StatusCode::kNotFound;
  if (origin_.has_value() && of_the_cut) {
    return ForgetCheckpoint(status, now, out);
  }
  Fail(absl::StrCat(Describe(server), ": creating tables: ", status.message()),
       now, out);
}

void JobMachine::Load(Moment now, Orders* out) {
  if (request_->spec.init_model.empty()) return Train(now, out);
  Enter(JobPhase::kLoading);
  const std::string path =
      PathOf(request_->base_directory, request_->spec.init_model);
  Log(absl::StrCat("loading ", path), now, out);
  book_->Send(std::nullopt, LoadInitModel{plan_, path}, now, out);
}

void JobMachine::DoReplicaWork(Moment now, Orders* out) {
  if (map_ == nullptr) return;
  ReplicaWork work = map_->TakeWork(plan_);
  for (ReplicaWork::To& order : work.orders) {
    Send(order.node, std::move(order.body), now, out);
  }
  if (work.lost) {
    return GoBack("all copies of a partition are lost", now, out);
  }
  if (!work.placements_changed) return;
  const std::vector<PartitionPlacement> before = plan_->partitions;
  RefreshPlan();
  roster_.Excuse(now.steady);
  CheckpointSteps steps;
  if (cuts_ != nullptr) cuts_->PlacementsChanged(&steps);
  Apply(steps, now, out);
  if (map_ == nullptr) return;  // That was its last chance of a cut.
  for (const Node& worker : roster_.Workers()) TellPlacements(worker, now, out);
  if (view_.phase == JobPhase::kExporting && exported_ == 0 &&
      !SamePrimaries(before, plan_->partitions)) {
    if (book_->Close(export_order_).has_value()) {
      out->push_back({0, ref_, std::nullopt, Abandon{export_order_}});
    }
    export_at_ = now.steady;
  }
}

void JobMachine::TellPlacements(const Node& worker, Moment now, Orders* out) {
  Send(worker,
       UpdatePlacements{map_->version(),
                        std::make_shared<const std::vector<PartitionPlacement>>(
                            plan_->partitions)},
       now, out);
}

bool JobMachine::TakeReplicaReply(const Order& order, const ReplyBody& body,
                                  Moment now, Orders* out) {
  if (map_ == nullptr) return false;
  if (const auto* configured = std::get_if<Configured>(&body)) {
    if (configured->generation != ref_.generation ||
        configured->incarnation != order.to->incarnation) {
      return false;
    }
    if (absl::Status taken = map_->TakeConfigured(*configured); !taken.ok()) {
      Warn(taken.message(), now, out);
    }
  } else if (const auto* recruited = std::get_if<Recruited>(&body)) {
    map_->TakeRecruited(std::get<RecruitReplica>(order.body), *recruited);
  } else if (std::holds_alternative<HandedOver>(body)) {
    map_->TakeHandedOver(std::get<HandOver>(order.body));
  } else {
    return false;
  }
  DoReplicaWork(now, out);
  return true;
}

bool JobMachine::FailReplicaOrder(ClosedOrder* closed,
                                  const absl::Status& status, Moment now,
                                  Orders* out) {
  const Order order = closed->order;
  const bool passing = IsTransient(status) ||
                       status.code() == absl::StatusCode::kFailedPrecondition;
  if (std::holds_alternative<DropCut>(order.body)) {
    if (passing) book_->Retry(std::move(*closed), now);
    return true;
  }
  if (const auto* update = std::get_if<UpdatePlacements>(&order.body)) {
    const bool is_newest =
        map_ != nullptr && update->version == map_->version();
    // Its ranks may be about to be started, with older placements.
    const bool early = status.code() == absl::StatusCode::kNotFound &&
                       !roster_.RanksOf(*order.to).empty();
    if (is_newest && (passing || early)) book_->Retry(std::move(*closed), now);
    return true;
  }
  if (const auto* configure = std::get_if<ConfigureReplicas>(&order.body)) {
    // One that sends heartbeats and hears nothing is done without, where others
    // have what it has.
    const absl::Duration give_up =
        map_->CanDoWithout(order.to->incarnation, *configure)
            ? kLeasesToAnswer * options_.lease
            : options_.retry.give_up;
    if (passing && book_->Retry(*closed, now, give_up)) return true;
    map_->FailConfigure(*order.to, *configure, now.steady);
  } else if (const auto* recruit = std::get_if<RecruitReplica>(&order.body)) {
    if (IsTransient(status) && book_->Retry(*closed, now)) return true;
    map_->FailRecruit(*recruit, now.steady);
  } else if (const auto* hand_over = std::get_if<HandOver>(&order.body)) {
    map_->FailHandOver(*hand_over);
  } else {
    return false;
  }
  DoReplicaWork(now, out);
  return true;
}

void JobMachine::Complain(uint64_t from, absl::Span<const uint64_t> silent,
                          const SilentLinks& links, Moment now, Orders* out) {
  if (view_.state != JobState::kRunning || !HasTables()) return;
  map_->Complain(from, silent, links, now.steady);
  DoReplicaWork(now, out);
}

absl::Status JobMachine::FindHeld(const Node& server, uint64_t generation,
                                  uint32_t table, uint32_t partition,
                                  uint64_t epoch, Moment now, Orders* out) {
  if (generation > ref_.generation) {
    return absl::FailedPreconditionError(
        absl::StrCat("server ", server.name, " knows generation ", generation,
                     " of job ", ref_.id, ", this scheduler only ",
                     ref_.generation, ": its stored state is an old one"));
  }
  if (generation < ref_.generation || HasEnded(view_.state)) {
    // It was called dead, or is back from where no order reached it.
    out->push_back({++*last_id_, {ref_.id, generation}, server, DropJob{}});
    return absl::OkStatus();
  }
  if (!HasTables()) return absl::OkStatus();
  const absl::Status found = map_->FindHeld(server, table, partition, epoch);
  DoReplicaWork(now, out);
  return found;
}

}  // namespace seraph
