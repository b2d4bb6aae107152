#include "scheduler/job/job_machine.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status/errors.h"
#include "scheduler/job/node_text.h"

namespace seraph {

JobMachine::JobMachine(JobRef job, JobRequest request,
                       const JobMachineOptions& options, OrderId* last_id,
                       uint64_t number, Moment now, Orders* out)
    : ref_(std::move(job)),
      number_(number),
      request_(std::make_shared<const JobRequest>(std::move(request))),
      options_(options),
      last_id_(last_id),
      book_(std::make_unique<OrderBook>(ref_, options.retry, last_id)),
      teardown_(std::make_unique<Teardown>(ref_, options.retry, last_id)),
      roster_(request_->spec.ranks) {
  const JobSpec& spec = request_->spec;
  view_.id = ref_.id;
  view_.name = spec.name;
  view_.submitted = now.wall;
  view_.ranks = spec.ranks;
  view_.replicas = spec.tables.replicas;
  view_.epochs_total = spec.train.epochs;
  Changed();
  Log(absl::StrCat("submitted: ", spec.name, ", ",
                   CountText(spec.ranks, "rank"), ", ",
                   SyncModeName(spec.sync.mode)),
      now, out);
}

void JobMachine::Wait(absl::string_view reason) {
  if (view_.waiting_for == reason) return;
  view_.waiting_for.assign(reason.data(), reason.size());
  Changed();
}

bool JobMachine::TryStart(ClusterNodes* nodes, size_t first_server, Moment now,
                          Orders* out) {
  if (!fences_.empty()) {
    Wait(absl::StrCat("what it held before to be freed on ", HoldersText()));
    return false;
  }
  const uint32_t replicas = request_->spec.tables.replicas;
  if (decided_plan_ == nullptr && !nodes->servers.empty() &&
      nodes->servers.size() < replicas) {
    Wait(absl::StrCat(CountText(replicas, "copy"), " of each partition need ",
                      CountText(replicas, "server"), "; there ",
                      nodes->servers.size() == 1 ? "is " : "are ",
                      nodes->servers.size()));
    return false;
  }
  if (!ChooseNodesNow(nodes)) return false;
  first_server_ = first_server;
  view_.state = JobState::kRunning;
  if (!view_.started.has_value()) view_.started = now.wall;
  Log(absl::StrCat("started: servers ", NodeNames(servers_), "; workers ",
                   NodeNames(roster_.Workers())),
      now, out);
  if (decided_plan_ == nullptr) {
    BeginScanning(now, out);
  } else {
    Place(now, out);
  }
  return true;
}

uint32_t JobMachine::RanksOn(const Node& worker) const {
  uint32_t ranks = 0;
  if (view_.state == JobState::kRunning) ranks += roster_.CountOn(worker);
  for (const Fence& fence : fences_) {
    if (!fence.teardown->Holds(worker)) continue;
    ranks += RankRoster(fence.ranks).CountOn(worker);
  }
  return ranks;
}

void JobMachine::AddHeld(std::map<uint64_t, HeldReplicas>* held) const {
  if (map_ != nullptr) map_->AddHeld(held);
}

size_t JobMachine::CountDegraded() const {
  return map_ == nullptr ? 0 : map_->Degraded();
}

bool JobMachine::HoldsSomethingOn(uint64_t incarnation) const {
  Node node;
  node.incarnation = incarnation;
  if (map_ != nullptr && map_->Holds(incarnation)) return true;
  if (view_.state == JobState::kRunning && !roster_.RanksOf(node).empty()) {
    return true;
  }
  return std::any_of(fences_.begin(), fences_.end(), [&](const Fence& fence) {
    return fence.teardown->Holds(node);
  });
}

void JobMachine::Advance(ClusterNodes* nodes, Moment now, Orders* out) {
  if (view_.state != JobState::kRunning || publishing_) return;
  if (view_.phase == JobPhase::kRecovering) return Recover(nodes, now, out);
  if (!nodes->stops) {
    stop_wanted_ = false;
  } else if (!PrepareToStop(now, out)) {
    return;
  }
  EmptyDraining(*nodes, now, out);
  HandOut(nodes, now, out);
  if (HasTables()) {
    map_->Plan(nodes->servers, cuts_ == nullptr || !cuts_->taking(),
               now.steady);
    DoReplicaWork(now, out);
  }
  if (view_.state != JobState::kRunning ||
      view_.phase == JobPhase::kRecovering) {
    return;
  }
  LookAtCheckpoints(now, out);
  const std::vector<uint32_t> waiting = roster_.Waiting();
  if (!waiting.empty()) {
    Wait(absl::StrCat("a worker for ", RanksText(waiting), ": ",
                      full_workers_.empty() ? RoomText(*nodes) : why_full_));
  } else if (HasTables() && !map_->AllLed()) {
    Wait("new primaries of partitions whose server is gone");
  } else if (HasTables() &&
             map_->LeastInSync() < request_->spec.tables.min_in_sync) {
    Wait(absl::StrCat("servers: a partition has ",
                      CountText(map_->LeastInSync(), "copy in step"),
                      ", and tables.min_in_sync is ",
                      request_->spec.tables.min_in_sync));
  } else {
    Wait("");
  }
}

void JobMachine::Cancel(Moment now, Orders* out) {
  if (HasEnded(view_.state) || publishing_) return;
  Log("cancelled", now, out);
  End(JobState::kCancelled, now, out);
}

void JobMachine::Abort(Moment now, Orders* out) {
  if (HasEnded(view_.state)) return;
  Fail(
      "the scheduler was stopped, and keeps nothing over a restart "
      "(scheduler.store); start it again and submit the job again",
      now, out);
}

bool JobMachine::Take(const Reply& reply, Moment now, Orders* out) {
  std::optional<ClosedOrder> closed = book_->Close(reply.order);
  if (!closed.has_value()) {
    for (Fence& fence : fences_) {
      if (!fence.teardown->Take(reply, now, out)) continue;
      fences_.remove_if([](const Fence& f) { return f.teardown->done(); });
      AnswerPaused(out);
      return true;
    }
    return false;
  }
  const Order order = closed->order;
  if (IsOfCheckpoint(order.body)) {
    CheckpointSteps steps;
    cuts_->Take(order, reply.status, reply.body, &steps);
    Apply(steps, now, out);
  } else if (!reply.status.ok()) {
    OnFailure(*std::move(closed), reply.status, now, out);
  } else if (const auto* files = std::get_if<ResolvedFiles>(&reply.body)) {
    OnResolved(*files, now, out);
  } else if (const auto* facts = std::get_if<DatasetFacts>(&reply.body)) {
    OnScanned(order, *facts, now, out);
  } else if (const auto* placed = std::get_if<Placed>(&reply.body)) {
    OnPlaced(*std::move(closed), *placed, now, out);
  } else if (const auto* reading = std::get_if<LedgerReading>(&reply.body)) {
    OnLedger(std::get<ReadLedger>(order.body), *reading, now, out);
  } else if (const auto* scores = std::get_if<MergedScores>(&reply.body)) {
    OnMerged(*scores, now, out);
  } else if (std::holds_alternative<Exported>(reply.body)) {
    exported_ = order.id;
    PublishIfReady(now, out);
  } else if (const auto* published = std::get_if<Published>(&reply.body)) {
    OnPublished(*published, now, out);
  } else if (std::holds_alternative<LoadInitModel>(order.body)) {
    Train(now, out);
  } else {
    TakeReplicaReply(order, reply.body, now, out);
  }
  return true;
}

void JobMachine::OnFailure(ClosedOrder closed, const absl::Status& status,
                           Moment now, Orders* out) {
  const Order& order = closed.order;
  if (std::holds_alternative<ExportModel>(order.body) ||
      std::holds_alternative<LoadInitModel>(order.body)) {
    return OnExportFailure(std::move(closed), status, now, out);
  }
  if (!order.to.has_value()) {
    const bool full = status.code() == absl::StatusCode::kResourceExhausted;
    return Fail(
        absl::StrCat(status.message(),
                     full ? "; free some space and submit the job again" : ""),
        now, out);
  }
  if (FailReplicaOrder(&closed, status, now, out)) return;
  const std::string what =
      absl::StrCat(Describe(*order.to), ": ", DescribeOrder(order.body));
  // Of another incarnation, whose registration will tell; or of a scheduler
  // that has been replaced, and stops.
  const std::string reason = ReasonOf(status);
  const bool other_life =
      status.code() == absl::StatusCode::kFailedPrecondition &&
      reason != "FOLDER_NOT_SHARED" && reason != "FOLDER_NOT_WRITABLE";
  // The ledger's partition has another primary by now.
  const bool moved = std::holds_alternative<ReadLedger>(order.body) &&
                     absl::IsNotFound(status);
  if (IsTransient(status) || other_life || moved) {
    if (std::holds_alternative<ReadLedger>(order.body)) {
      next_reading_ = now.steady + options_.ledger_interval;
      return;
    }
    if (auto* run = std::get_if<RunRanks>(&closed.order.body)) {
      // Its ranks were started all the same, and are done.
      if (roster_.RanksOf(*order.to).empty()) return;
      run->plan = plan_;
    }
    if (book_->Retry(std::move(closed), now)) return;
    return Fail(
        absl::StrCat(what, "no success for ",
                     absl::FormatDuration(options_.retry.give_up),
                     " although the node sends heartbeats (", status.message(),
                     "); check its address in the cluster file"),
        now, out);
  }
  if (std::holds_alternative<RunRanks>(order.body) &&
      reason == "NO_MEMORY_FOR_RECORDS" &&
      TakeFromFullWorker(order, status, now, out)) {
    return;
  }
  if (std::holds_alternative<AssignPartitions>(order.body)) {
    return OnNotPlaced(*order.to, status, now, out);
  }
  if (!std::holds_alternative<ScanPiece>(order.body)) {
    return Fail(absl::StrCat(what, status.message()), now, out);
  }
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kDataLoss:
      // Of the data, whoever reads it; the message names the place.
      return Fail(status.message(), now, out);
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
      return Fail(absl::StrCat(Describe(*order.to), ": ", status.message(),
                               "; the scheduler sees the file, and every "
                               "worker must see it at the same place"),
                  now, out);
    default:
      return Fail(absl::StrCat(Describe(*order.to), ": ", status.message()),
                  now, out);
  }
}

void JobMachine::TakeProgress(OrderId order, double fraction) {
  if (!book_->IsOpen(order)) return;
  view_.phase_fraction = fraction;
  Changed();
}

void JobMachine::LoseNode(const Node& node, absl::string_view what, Moment now,
                          Orders* out) {
  const bool told =
      teardown_->Holds(node) ||
      std::any_of(fences_.begin(), fences_.end(), [&](const Fence& fence) {
        return fence.teardown->Holds(node);
      });
  if (told && node.role == NodeRole::kServer) {
    lost_servers_.insert(node.incarnation);
  }
  for (Fence& fence : fences_) fence.teardown->ForgetNode(node);
  fences_.remove_if([](const Fence& f) { return f.teardown->done(); });
  teardown_->ForgetNode(node);
  AnswerPaused(out);
  if (view_.state != JobState::kRunning) return;
  book_->ForgetNode(node);
  if (publishing_) return;
  if (node.role == NodeRole::kWorker) return LoseWorker(node, what, now, out);

  std::erase_if(servers_, [&](const Node& server) {
    return server.incarnation == node.incarnation;
  });
  if (cuts_ != nullptr) {
    // It may have written for a cut and lead nothing any more.
    CheckpointSteps steps;
    cuts_->LoseServer(node, &steps);
    Apply(steps, now, out);
  }
  if (map_ == nullptr || !map_->Holds(node.incarnation)) return;
  const std::string loss =
      absl::StrCat(Describe(node), " ", what, " in the phase '",
                   JobPhaseName(view_.phase), "' with partitions of the job");
  if (!HasTables()) return GoBack(loss, now, out);
  excused_ = true;
  map_->LoseNode(node);
  if (map_->lost()) {
    return GoBack(absl::StrCat(loss, ", whose last copy it had"), now, out);
  }
  ++view_.recoveries;
  Log(absl::StrCat(loss, "; the other copies take over"), now, out);
  DoReplicaWork(now, out);
}

void JobMachine::ReturnNode(const Node& node, Moment now, Orders* out) {
  if (lost_servers_.erase(node.incarnation) == 0) return;
  if (ref_.generation > 1) {
    auto teardown = std::make_unique<Teardown>(
        JobRef{ref_.id, ref_.generation - 1}, options_.retry, last_id_);
    teardown->Add(node);
    teardown->Start({}, now, out);
    fences_.push_back({std::move(teardown), {}});
  }
  if (!HasTables()) return;
  // Its copy belongs to no cut any more.
  if (last_cut_ > 0) Send(node, DropCut{last_cut_}, now, out);
  map_->ReturnServer(node);
  DoReplicaWork(now, out);
}

void JobMachine::Tick(Moment now, Orders* out) {
  book_->Tick(now, out);
  for (Fence& fence : fences_) fence.teardown->Tick(now, out);
  if (view_.state != JobState::kRunning || publishing_) return;
  if (view_.phase == JobPhase::kTraining) {
    if (!ledger_complete_ && !book_->IsOpen(ledger_order_) &&
        now.steady >= next_reading_) {
      ReadLedgerNow(now, out);
    }
    LookForStalledRank(now, out);
  }
  if (view_.phase == JobPhase::kExporting && export_at_.has_value() &&
      now.steady >= *export_at_ && map_->AllLed()) {
    Export(now, out);
  }
}

void JobMachine::Send(const Node& node, OrderBody body, Moment now,
                      Orders* out) {
  teardown_->Add(node);
  book_->Send(node, std::move(body), now, out);
}

void JobMachine::Fail(absl::string_view error, Moment now, Orders* out) {
  view_.error.assign(error.data(), error.size());
  Log(absl::StrCat("failed: ", error), now, out);
  End(JobState::kFailed, now, out);
}

std::vector<Order> JobMachine::DropOrders(Orders* out) {
  std::vector<Order> open = book_->Release();
  for (const Order& order : open) {
    out->push_back({0, ref_, std::nullopt, Abandon{order.id}});
  }
  if (exported_ != 0 && !publishing_) {
    out->push_back({0, ref_, std::nullopt, Abandon{exported_}});
    exported_ = 0;
  }
  return open;
}

void JobMachine::End(JobState state, Moment now, Orders* out) {
  Leave(absl::StrCat("the job has ended: ", JobStateName(state)), now, out);
  view_.state = state;
  view_.ended = now.wall;
  view_.waiting_for.clear();
  view_.least_in_sync = 0;
  Enter(JobPhase::kEnded);
  const absl::Status ended = absl::FailedPreconditionError(
      absl::StrCat("the job has ended: ", JobStateName(state)));
  Answer(&asking_, ended, out);
  Answer(&waiting_, ended, out);
  Answer(&pausing_, ended, out);
  pause_wanted_ = false;
  if (request_->spec.checkpoint.has_value() && output_proven_) {
    out->push_back({0, ref_, std::nullopt,
                    RemoveFiles{{absl::StrCat(
                        CheckpointPath(request_->spec, request_->base_directory,
                                       "", ref_.id),
                        "/", kFolderToken)}}});
  }
  if (output_proven_ && state != JobState::kSucceeded) {
    out->push_back(
        {0, ref_, std::nullopt,
         WriteRecord{RecordPath(request_->spec, request_->base_directory),
                     view_}});
  }
  decided_plan_.reset();
}

void JobMachine::Enter(JobPhase phase) {
  view_.phase = phase;
  view_.phase_fraction = 0;
  Changed();
}

void JobMachine::Log(absl::string_view text, Moment now, Orders* out) const {
  out->push_back({0, ref_, std::nullopt,
                  LogLine{now.wall, std::string(text.data(), text.size())}});
}

void JobMachine::Warn(absl::string_view text, Moment now, Orders* out) {
  view_.warnings.emplace_back(text.data(), text.size());
  Changed();
  Log(absl::StrCat("warning: ", text), now, out);
}

bool JobMachine::NothingHeld() const { return fences_.empty(); }

std::string JobMachine::HoldersText() const {
  std::vector<Node> holders;
  for (const Fence& fence : fences_) {
    for (Node& node : fence.teardown->Holders()) {
      holders.push_back(std::move(node));
    }
  }
  return NodeNames(holders);
}

}  // namespace seraph
