#include "scheduler/job/job_machine.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/dataset/rank_plan.h"
#include "common/status/errors.h"
#include "scheduler/job/fact_decision.h"
#include "scheduler/placement/partition_placer.h"

namespace seraph {
namespace {

bool SameLife(const Node& a, const Node& b) {
  return a.name == b.name && a.incarnation == b.incarnation;
}

std::string Describe(const Node& node) {
  return absl::StrCat(
      node.role == NodeRole::kServer ? "server " : "worker ", node.name,
      node.name == node.address ? "" : absl::StrCat(" (", node.address, ")"));
}

// What an order was about, where the message of its failure does not say it.
struct DescribeOrder {
  std::string operator()(const RunRanks&) const { return "starting ranks: "; }
  std::string operator()(const AssignPartitions&) const {
    return "creating tables: ";
  }
  std::string operator()(const ReadLedger&) const {
    return "reading the job's ledger: ";
  }
  std::string operator()(const ScanPiece& piece) const {
    return absl::StrCat("reading ", piece.file.data.path, ": ");
  }
  template <typename OfTheShell>
  std::string operator()(const OfTheShell&) const {
    return "";
  }
};

std::vector<Node> Distinct(const std::vector<Node>& nodes) {
  std::vector<Node> distinct;
  for (const Node& node : nodes) {
    const bool known =
        std::any_of(distinct.begin(), distinct.end(),
                    [&](const Node& other) { return SameLife(node, other); });
    if (!known) distinct.push_back(node);
  }
  return distinct;
}

std::string Names(const std::vector<Node>& nodes) {
  return absl::StrJoin(Distinct(nodes), ", ",
                       [](std::string* out, const Node& node) {
                         absl::StrAppend(out, node.name);
                       });
}

std::vector<InputFile> Plain(const std::vector<ResolvedFile>& files) {
  std::vector<InputFile> plain;
  for (const ResolvedFile& file : files) plain.push_back(file.file);
  return plain;
}

uint64_t StoredBytes(const std::vector<ResolvedFile>& files) {
  uint64_t bytes = 0;
  for (const ResolvedFile& file : files) bytes += file.file.data.size_bytes;
  return bytes;
}

}  // namespace

JobMachine::JobMachine(JobRef job, JobRequest request,
                       const JobMachineOptions& options, OrderId* last_id,
                       Moment now, Orders* out)
    : ref_(std::move(job)),
      request_(std::make_shared<const JobRequest>(std::move(request))),
      options_(options),
      book_(ref_, options.retry, last_id),
      teardown_(ref_, options.retry, last_id) {
  const JobSpec& spec = request_->spec;
  view_.id = ref_.id;
  view_.name = spec.name;
  view_.submitted = now.wall;
  view_.ranks = spec.ranks;
  view_.epochs_total = spec.train.epochs;
  Changed();
  Log(absl::StrCat("submitted: ", spec.name, ", ", spec.ranks,
                   spec.ranks == 1 ? " rank, " : " ranks, ",
                   SyncModeName(spec.sync.mode)),
      now, out);
}

void JobMachine::Wait(absl::string_view reason) {
  if (view_.waiting_for == reason) return;
  view_.waiting_for.assign(reason.data(), reason.size());
  Changed();
}

void JobMachine::Start(NodeChoice choice, size_t first_server, Moment now,
                       Orders* out) {
  servers_ = std::move(choice.servers);
  worker_of_rank_ = std::move(choice.worker_of_rank);
  first_server_ = first_server;
  view_.state = JobState::kRunning;
  view_.started = now.wall;
  view_.waiting_for.clear();
  Enter(JobPhase::kScanning);
  Log(absl::StrCat("started: servers ", Names(servers_), "; workers ",
                   Names(worker_of_rank_)),
      now, out);
  book_.Send(std::nullopt, ResolveFiles{request_}, now, out);
}

uint32_t JobMachine::RanksOn(const Node& worker) const {
  if (view_.state == JobState::kPending) return 0;
  if (HasEnded(view_.state) && !teardown_.Holds(worker)) return 0;
  return std::count_if(
      worker_of_rank_.begin(), worker_of_rank_.end(),
      [&](const Node& node) { return SameLife(node, worker); });
}

void JobMachine::Cancel(Moment now, Orders* out) {
  if (HasEnded(view_.state) || publishing_) return;
  Log("cancelled", now, out);
  End(JobState::kCancelled, now, out);
}

void JobMachine::Abort(Moment now, Orders* out) {
  if (HasEnded(view_.state)) return;
  Fail("the scheduler was stopped; start it again and submit the job again",
       now, out);
}

bool JobMachine::Take(const Reply& reply, Moment now, Orders* out) {
  std::optional<ClosedOrder> closed = book_.Close(reply.order);
  if (!closed.has_value()) return teardown_.Take(reply, now, out);
  if (!reply.status.ok()) {
    OnFailure(*std::move(closed), reply.status, now, out);
    return true;
  }
  const Order& order = closed->order;
  if (const auto* files = std::get_if<ResolvedFiles>(&reply.body)) {
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
    Publish(order.id, now, out);
  } else if (const auto* published = std::get_if<Published>(&reply.body)) {
    OnPublished(*published, now, out);
  } else if (std::holds_alternative<LoadInitModel>(order.body)) {
    Train(now, out);
  }
  return true;
}

void JobMachine::OnFailure(ClosedOrder closed, const absl::Status& status,
                           Moment now, Orders* out) {
  const Order& order = closed.order;
  if (!order.to.has_value()) {
    const bool full = status.code() == absl::StatusCode::kResourceExhausted;
    return Fail(
        absl::StrCat(status.message(),
                     full ? "; free some space and submit the job again" : ""),
        now, out);
  }
  const std::string what = absl::StrCat(
      Describe(*order.to), ": ", std::visit(DescribeOrder(), order.body));
  if (IsTransient(status)) {
    const auto* reading = std::get_if<ReadLedger>(&order.body);
    if (reading != nullptr && !reading->last) {
      next_reading_ = now.steady + options_.ledger_interval;
      return;
    }
    // Its ranks were started all the same, and are done.
    if (std::holds_alternative<RunRanks>(order.body) && AllRanksDone()) return;
    if (book_.Retry(std::move(closed), now)) return;
    return Fail(
        absl::StrCat(what, "no success for ",
                     absl::FormatDuration(options_.retry.give_up),
                     " although the node sends heartbeats (", status.message(),
                     "); check its address in the cluster file"),
        now, out);
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
  if (!book_.IsOpen(order)) return;
  view_.phase_fraction = fraction;
  Changed();
}

void JobMachine::OnResolved(const ResolvedFiles& files, Moment now,
                            Orders* out) {
  output_proven_ = true;
  files_ = files;
  const JobSpec& spec = request_->spec;
  const auto job_yaml = std::make_shared<const std::string>(ToYaml(spec));
  std::vector<ScanPiece> pieces;
  for (const bool validation : {false, true}) {
    const std::vector<ResolvedFile>& part =
        validation ? files_.validation : files_.train;
    const uint64_t block_bytes = BlockBytes(StoredBytes(part), spec.ranks,
                                            spec.data.options.block_bytes);
    for (ScanPiece& piece : CutIntoPieces(part, validation, block_bytes,
                                          options_.scan_piece_bytes)) {
      piece.job_yaml = job_yaml;
      pieces.push_back(std::move(piece));
    }
  }
  Log(absl::StrCat("reading ", files_.train.size(), " training and ",
                   files_.validation.size(), " validation files, ",
                   StoredBytes(files_.train) + StoredBytes(files_.validation),
                   " bytes"),
      now, out);
  std::vector<Node> workers = Distinct(worker_of_rank_);
  for (const Node& worker : workers) teardown_.Add(worker);
  scan_.emplace(std::move(pieces), std::move(workers),
                options_.scans_in_flight);
  Changed();
  SendScans(now, out);
}

void JobMachine::SendScans(Moment now, Orders* out) {
  while (std::optional<ScanSchedule::Next> next = scan_->TakeNext()) {
    book_.Send(next->worker, std::move(next->piece), now, out);
  }
}

void JobMachine::OnScanned(const Order& order, DatasetFacts facts, Moment now,
                           Orders* out) {
  scan_->Finish(std::get<ScanPiece>(order.body), *order.to, std::move(facts));
  view_.phase_fraction = scan_->fraction();
  Changed();
  SendScans(now, out);
  if (scan_->done()) Place(now, out);
}

void JobMachine::Place(Moment now, Orders* out) {
  absl::StatusOr<JobPlan> decided = DecideFacts(
      ref_, *request_, options_.default_partitions,
      {Plain(files_.train), scan_->TakeParts(false), Plain(files_.validation),
       scan_->TakeParts(true), files_.init});
  scan_.reset();
  if (!decided.ok()) return Fail(decided.status().message(), now, out);
  decided->worker_of_rank = worker_of_rank_;
  decided->partitions =
      PlacePartitions(servers_, decided->tables, first_server_);
  plan_ = std::make_shared<const JobPlan>(*std::move(decided));

  view_.records_read = TrainRecords(plan_->train);
  view_.records_bad = BadRecords(plan_->train);
  view_.epoch_examples_total = view_.records_read;
  view_.warnings = DataWarnings(*plan_);
  Log(absl::StrCat("read ", view_.records_read, " records, ", view_.records_bad,
                   " bad; an epoch has ", plan_->steps_per_epoch, " steps"),
      now, out);
  for (const std::string& warning : view_.warnings) {
    Log(absl::StrCat("warning: ", warning), now, out);
  }
  Enter(JobPhase::kPlacing);
  for (const Node& server : servers_) {
    AssignPartitions order{plan_, {}, std::nullopt};
    for (const PartitionPlacement& placement : plan_->partitions) {
      if (placement.primary.name == server.name) {
        order.partitions.push_back(placement);
      }
    }
    if (order.partitions.empty()) continue;
    unplaced_.insert(server.name);
    teardown_.Add(server);
    book_.Send(server, std::move(order), now, out);
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
  unplaced_.erase(server.name);
  if (unplaced_.empty()) Load(now, out);
}

void JobMachine::Load(Moment now, Orders* out) {
  if (request_->spec.init_model.empty()) return Train(now, out);
  Enter(JobPhase::kLoading);
  const std::string path =
      PathOf(request_->base_directory, request_->spec.init_model);
  Log(absl::StrCat("loading ", path), now, out);
  book_.Send(std::nullopt, LoadInitModel{plan_, path}, now, out);
}

void JobMachine::Export(Moment now, Orders* out) {
  Enter(JobPhase::kExporting);
  Log("exporting", now, out);
  book_.Send(std::nullopt, ExportModel{plan_}, now, out);
}

void JobMachine::Publish(OrderId exported, Moment now, Orders* out) {
  publishing_ = true;
  view_.phase_fraction = 1;
  Changed();
  JobView record = view_;
  record.state = JobState::kSucceeded;
  record.phase = JobPhase::kEnded;
  record.ended = now.wall;
  book_.Send(std::nullopt, PublishModel{exported, plan_, std::move(record)},
             now, out);
}

void JobMachine::OnPublished(const Published& published, Moment now,
                             Orders* out) {
  view_.model_path = ModelPath(request_->spec, request_->base_directory);
  view_.model_digest = published.digest;
  if (!published.warning.empty()) {
    view_.warnings.push_back(published.warning);
    Log(absl::StrCat("warning: ", published.warning), now, out);
  }
  Log(absl::StrCat("succeeded: ", view_.model_path, " ", view_.model_digest),
      now, out);
  End(JobState::kSucceeded, now, out);
}

void JobMachine::LoseNode(const Node& node, absl::string_view what, Moment now,
                          Orders* out) {
  teardown_.ForgetNode(node);
  if (view_.state != JobState::kRunning || publishing_) return;
  if (node.role == NodeRole::kWorker) {
    if (AllRanksDone() || RanksOn(node) == 0) return;
    return Fail(
        absl::StrCat(Describe(node), " ", what, " in the phase '",
                     JobPhaseName(view_.phase), "'; it had ", RanksText(node),
                     ". Start it again and submit the job again"),
        now, out);
  }
  if (plan_ == nullptr) {
    std::erase_if(servers_,
                  [&](const Node& server) { return SameLife(server, node); });
    if (!servers_.empty()) return;
    return Fail(absl::StrCat("the last server, ", Describe(node), ", ", what,
                             " before the tables were created. Start servers "
                             "and submit the job again"),
                now, out);
  }
  const auto partitions =
      std::count_if(plan_->partitions.begin(), plan_->partitions.end(),
                    [&](const PartitionPlacement& placement) {
                      return SameLife(placement.primary, node);
                    });
  if (partitions == 0) return;
  Fail(absl::StrCat(Describe(node), " ", what, " in the phase '",
                    JobPhaseName(view_.phase), "'; it held ", partitions,
                    " of the job's ", plan_->partitions.size(),
                    " partitions, whose only copies are lost. Start it again "
                    "and submit the job again"),
       now, out);
}

void JobMachine::Tick(Moment now, Orders* out) {
  book_.Tick(now, out);
  teardown_.Tick(now, out);
  if (view_.phase == JobPhase::kTraining && !book_.IsOpen(ledger_order_) &&
      !AllRanksDone() && now.steady >= next_reading_) {
    ReadLedgerNow(now, out);
  }
}

void JobMachine::Fail(absl::string_view error, Moment now, Orders* out) {
  view_.error.assign(error.data(), error.size());
  Log(absl::StrCat("failed: ", error), now, out);
  End(JobState::kFailed, now, out);
}

void JobMachine::End(JobState state, Moment now, Orders* out) {
  view_.state = state;
  view_.ended = now.wall;
  view_.waiting_for.clear();
  Enter(JobPhase::kEnded);
  const std::vector<Order> open = book_.Release();
  for (const Order& order : open) {
    out->push_back({0, ref_, std::nullopt, Abandon{order.id}});
  }
  if (barrier_.has_value()) {
    barrier_->Close(absl::AbortedError(absl::StrCat("the job has ended: ",
                                                    JobStateName(state))),
                    out);
  }
  if (output_proven_ && state != JobState::kSucceeded) {
    out->push_back(
        {0, ref_, std::nullopt,
         WriteRecord{RecordPath(request_->spec, request_->base_directory),
                     view_}});
  }
  teardown_.Start(open, now, out);
  plan_.reset();
  scan_.reset();
  files_ = ResolvedFiles();
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

}  // namespace seraph
