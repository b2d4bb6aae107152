#include "scheduler/core/fake_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/metrics/metric_sums.h"

namespace seraph {
namespace {

// Two labels and 100 records, in one block.
DatasetFacts HundredRecords(const ScanPiece& piece) {
  DatasetFacts facts;
  const uint64_t end = piece.end == 0 ? piece.file.data.size_bytes : piece.end;
  facts.blocks = {{.file = piece.file_index,
                   .begin = piece.begin,
                   .end = end,
                   .train_records = 100}};
  facts.labels = {
      {.value = 0, .text = "", .file = piece.file_index, .line = 1},
      {.value = 1, .text = "", .file = piece.file_index, .line = 2}};
  facts.has_keys = true;
  facts.max_key = 9;
  facts.nonzeros = 500;
  facts.lines = 100;
  return facts;
}

ResolvedFile FileOf(const std::string& path, uint64_t size) {
  return {.file = {.data = {path, size, 1}, .labels = {}}, .splittable = true};
}

std::vector<double> Sums(double examples, double loss) {
  MetricSums sums;
  sums.examples = examples;
  sums.loss = sums.log_loss = examples * loss;
  sums.correct = examples;
  const auto array = sums.ToArray();
  return {array.begin(), array.end()};
}

}  // namespace

JobSpec SmallJob() {
  JobSpec spec;
  spec.name = "small";
  spec.model.kind = ModelKind::kLogisticRegression;
  spec.model.keys = 10;
  spec.data.train = {"train"};
  spec.train.epochs = 2;
  spec.train.batch_size = 10;
  return spec;
}

FakeCluster::FakeCluster(SchedulerOptions options)
    : scan(HundredRecords),
      options_(options),
      now_{absl::Seconds(1000), absl::FromUnixSeconds(1700000000)},
      core_(std::make_unique<SchedulerCore>(options, now_)) {
  files.train = {FileOf("/data/train", 1000)};
}

void FakeCluster::AddServers(int n) {
  for (int i = 1; i <= n; ++i) {
    Register(absl::StrCat("s", i), NodeRole::kServer);
  }
}

void FakeCluster::AddWorkers(int n, uint32_t slots) {
  for (int i = 1; i <= n; ++i) {
    Register(absl::StrCat("w", i), NodeRole::kWorker, slots);
  }
}

Node FakeCluster::Register(const std::string& name, NodeRole role,
                           uint32_t slots, const std::string& arithmetic) {
  Node node;
  node.name = name;
  node.role = role;
  node.address = name + ":7400";
  node.incarnation = ++last_incarnation_;
  node.slots = slots;
  node.arithmetic = arithmetic;
  nodes_[name] = node;
  Handle(NodeRegistered{node});
  Run();
  return node;
}

Node FakeCluster::Restart(const std::string& name) {
  const Node old = nodes_.at(name);
  tables.erase(name);
  activity.erase(name);
  Register(name, old.role, old.slots, old.arithmetic);
  return old;
}

void FakeCluster::Leave(const std::string& name) {
  silent_.insert(name);
  Handle(NodeLeft{name, nodes_.at(name).incarnation});
  Run();
}

void FakeCluster::Wake(const std::string& name) {
  silent_.erase(name);
  std::deque<Order> held;
  held.swap(held_);
  for (Order& order : held) queue_.push_back(std::move(order));
  Run();
}

void FakeCluster::RestartScheduler() {
  Run();
  queue_.clear();
  held_.clear();
  late_.clear();
  spool_files.clear();
  core_ = SchedulerCore::Restore(options_, stored, now_).value();
}

std::string FakeCluster::Submit(const JobSpec& spec,
                                const std::string& submission_id) {
  JobSubmitted event;
  event.id = absl::StrCat("job", ++submitted_);
  event.request = {spec, "/jobs", submission_id};
  const Outcome outcome = Handle(event);
  Run();
  return outcome.status.ok() ? outcome.job : outcome.status.ToString();
}

void FakeCluster::Cancel(const std::string& job) {
  Handle(JobCancelled{job});
  Run();
}

uint64_t FakeCluster::Pause(const std::string& job) {
  const Outcome outcome = Handle(JobPaused{job, ++last_waiter_});
  if (!outcome.status.ok()) answers[last_waiter_] = outcome.status;
  const uint64_t waiter = last_waiter_;
  Run();
  return waiter;
}

uint64_t FakeCluster::MakeCheckpoint(const std::string& job) {
  const Outcome outcome = Handle(CheckpointAsked{job, ++last_waiter_});
  if (!outcome.status.ok()) answers[last_waiter_] = outcome.status;
  const uint64_t waiter = last_waiter_;
  Run();
  return waiter;
}

absl::Status FakeCluster::Resume(const std::string& job) {
  const Outcome outcome = Handle(JobResumed{job});
  Run();
  return outcome.status;
}

FakeCluster::RankLife FakeCluster::LifeOf(const std::string& job,
                                          uint32_t rank) const {
  RankLife life{{job, 1}, {rank, 1}, {}};
  for (const Order& order : carried_out) {
    const auto* run = std::get_if<RunRanks>(&order.body);
    if (run == nullptr || order.job.id != job) continue;
    for (const RankRef& named : run->ranks) {
      if (named.rank == rank) life = {order.job, named, *order.to};
    }
  }
  return life;
}

void FakeCluster::StandAt(const std::string& job, uint32_t rank, Clock clock) {
  LedgerReading& ledger = ledgers[job];
  if (ledger.ranks.size() <= rank) ledger.ranks.resize(rank + 1);
  ledger.ranks[rank].clock = clock;
}

void FakeCluster::EndEpochInLedger(const std::string& job, uint32_t rank,
                                   uint32_t epoch, double loss) {
  LedgerReading& ledger = ledgers[job];
  if (ledger.ranks.size() <= rank) ledger.ranks.resize(rank + 1);
  RankReading& reading = ledger.ranks[rank];
  const LedgerEntry end = {{epoch, 5}, Sums(10 * (rank + 1), loss)};
  reading.latest = end;
  reading.clock = {epoch + 1, 0};
  reading.epoch_ends.push_back(end);
}

absl::Status FakeCluster::ShareEpoch(const std::string& job, uint32_t rank,
                                     uint32_t epoch, double validation_loss) {
  EpochShared event;
  const RankLife life = LifeOf(job, rank);
  event.job = life.job;
  event.share.rank = life.rank;
  event.share.epoch = epoch;
  event.waiter = ++last_waiter_;
  waiters.push_back(event.waiter);
  if (!files.validation.empty()) {
    event.share.sums = Sums(8, validation_loss);
    event.share.run_file = absl::StrCat("/spool/", job, "-", event.waiter);
    spool_files.insert(event.share.run_file);
  }
  const Outcome outcome = Handle(event);
  if (!outcome.status.ok()) spool_files.erase(event.share.run_file);
  Run();
  return outcome.status;
}

void FakeCluster::TrainEpoch(const std::string& job, uint32_t epoch, bool meet,
                             double loss, double validation_loss) {
  const uint32_t ranks = View(job).ranks;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    EndEpochInLedger(job, rank, epoch, loss);
  }
  for (uint32_t rank = 0; meet && rank < ranks; ++rank) {
    ShareEpoch(job, rank, epoch, validation_loss).IgnoreError();
  }
}

absl::Status FakeCluster::EndRank(const std::string& job, uint32_t rank,
                                  const absl::Status& status) {
  RankEnded event;
  const RankLife life = LifeOf(job, rank);
  event.job = life.job;
  event.rank = life.rank;
  event.incarnation = life.worker.incarnation;
  event.status = status;
  const Outcome outcome = Handle(event);
  Run();
  return outcome.status;
}

void FakeCluster::EndRanks(const std::string& job) {
  const uint32_t ranks = View(job).ranks;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    EndRank(job, rank).IgnoreError();
  }
}

void FakeCluster::Pass(absl::Duration time) {
  const absl::Duration end = now_.steady + time;
  while (now_.steady < end) {
    const absl::Duration step =
        std::min(absl::Milliseconds(100), end - now_.steady);
    now_.steady += step;
    now_.wall += step;
    for (const auto& [name, node] : nodes_) {
      if (silent_.contains(name)) continue;
      Handle(NodeHeartbeat{name, node.incarnation, {}});
    }
    Handle(TimePassed{});
    Run();
  }
}

Outcome FakeCluster::Handle(const Event& event) {
  Outcome outcome = core_->Handle(event, now_);
  Enqueue(&outcome);
  return outcome;
}

void FakeCluster::Enqueue(Outcome* outcome) {
  // Stored before anything leaves.
  for (const StateWrite& write : outcome->writes) {
    if (write.value.has_value()) {
      stored[write.key] = *write.value;
    } else {
      stored.erase(write.key);
    }
  }
  stored_times += !outcome->writes.empty();
  Enqueue(outcome->orders);
}

void FakeCluster::Enqueue(Orders orders) {
  std::vector<Order> given_up;
  for (Order& order : orders) {
    const auto* abandon = std::get_if<Abandon>(&order.body);
    if (abandon == nullptr) {
      queue_.push_back(std::move(order));
      continue;
    }
    for (std::deque<Order>* place : {&held_, &queue_}) {
      const auto it = std::find_if(
          place->begin(), place->end(),
          [&](const Order& other) { return other.id == abandon->order; });
      if (it == place->end()) continue;
      late_[it->id] = *it;
      given_up.push_back(order);
      given_up.back().id = it->id;
      place->erase(it);
      break;
    }
  }
  // An order that is given up is answered all the same, with Cancelled. It may
  // have been carried out nevertheless, and later than what was sent after it.
  for (Order& order : given_up) queue_.push_back(std::move(order));
}

absl::Status FakeCluster::TakeFailure(const Order& order) {
  const size_t kind = order.body.index();
  if (const auto it = always_.find(kind);
      it != always_.end() && !it->second.ok()) {
    return it->second;
  }
  std::deque<absl::Status>& failures = failures_[kind];
  if (failures.empty()) return absl::OkStatus();
  const absl::Status failure = failures.front();
  failures.pop_front();
  return failure;
}

// What each order does; returns the reply's body.
struct FakeCluster::CarryOut {
  FakeCluster& cluster;
  const Order& order;

  const std::string& job() const { return order.job.id; }

  ReplyBody operator()(const ResolveFiles&) { return cluster.files; }
  ReplyBody operator()(const ScanPiece& piece) {
    cluster.activity[order.to->name].insert(job());
    return cluster.scan(piece);
  }
  ReplyBody operator()(const AssignPartitions& assign) {
    if (order.job.generation > cluster.dropped_[{order.to->name, job()}]) {
      cluster.tables[order.to->name].insert(job());
    }
    uint64_t& generation = cluster.generations_[job()];
    if (generation < order.job.generation) {
      generation = order.job.generation;
      if (assign.restore.has_value()) {
        cluster.ledgers[job()] = cluster.checkpoints.at(absl::StrCat(
            assign.restore->directory, "/", assign.restore->manifest));
      } else {
        cluster.ledgers.erase(job());
      }
    }
    return Placed{order.to->incarnation, order.job.generation};
  }
  ReplyBody operator()(const RunRanks&) {
    cluster.activity[order.to->name].insert(job());
    return {};
  }
  ReplyBody operator()(const StopJob&) {
    cluster.activity[order.to->name].erase(job());
    return {};
  }
  ReplyBody operator()(const DropJob&) {
    uint64_t& dropped = cluster.dropped_[{order.to->name, job()}];
    dropped = std::max(dropped, order.job.generation);
    cluster.tables[order.to->name].erase(job());
    return {};
  }
  ReplyBody operator()(const UpdatePlacements&) { return {}; }
  ReplyBody operator()(const ConfigureReplicas& configure) {
    Configured configured{order.to->incarnation, order.job.generation, {}};
    for (const ReplicaOrder& replica : configure.replicas) {
      ReplicaState& state = configured.replicas.emplace_back();
      state.table = replica.table;
      state.partition = replica.partition;
      state.epoch = replica.epoch;
      state.duty = replica.duty;
      if (replica.duty != ReplicaDuty::kDrop) {
        cluster.tables[order.to->name].insert(job());
      }
    }
    return configured;
  }
  ReplyBody operator()(const RecruitReplica& recruit) {
    return Recruited{recruit.epoch, recruit.recruit.incarnation};
  }
  ReplyBody operator()(const HandOver&) { return HandedOver{}; }
  ReplyBody operator()(const BeginCut&) {
    CutClocks clocks;
    LedgerReading& ledger = cluster.ledgers[job()];
    ledger.ranks.resize(cluster.View(job()).ranks);
    for (const RankReading& rank : ledger.ranks) {
      clocks.clocks.push_back(rank.clock);
    }
    return clocks;
  }
  ReplyBody operator()(const TakeCut& take) {
    cluster.cut_ledgers_[{job(), take.cut}] = cluster.ledgers[job()];
    cluster.cut_partitions_[{order.to->incarnation, take.cut}] =
        take.partitions;
    return CutClocks{take.clocks};
  }
  ReplyBody operator()(const WriteCut& write) {
    CutWritten written;
    for (const ReplicaOrder& partition :
         cluster.cut_partitions_[{order.to->incarnation, write.cut}]) {
      CutPart& part = written.parts.emplace_back();
      part.table = partition.table;
      part.partition = partition.partition;
      part.files.push_back(
          {absl::StrCat("c", write.cut, "-", part.table, "-", part.partition),
           100, 7});
    }
    return written;
  }
  ReplyBody operator()(const DropCut&) { return {}; }
  ReplyBody operator()(const WriteManifest& write) {
    const std::string name =
        absl::StrCat("g", order.job.generation, "-c", write.cut, ".checkpoint");
    cluster.checkpoints[absl::StrCat(write.directory, "/", name)] =
        cluster.cut_ledgers_.at({job(), write.cut});
    return ManifestWritten{name};
  }
  ReplyBody operator()(const PruneCheckpoints&) { return {}; }
  ReplyBody operator()(const AnswerPerson& answer) {
    cluster.answers[answer.waiter] = answer.status;
    return {};
  }
  ReplyBody operator()(const ReadLedger& read) {
    LedgerReading reading = cluster.ledgers[job()];
    reading.generation = order.job.generation;
    reading.ranks.resize(cluster.View(job()).ranks);
    for (RankReading& rank : reading.ranks) {
      std::erase_if(rank.epoch_ends, [&](const LedgerEntry& end) {
        return end.clock.epoch < read.from_epoch;
      });
    }
    return reading;
  }
  ReplyBody operator()(const LoadInitModel&) { return {}; }
  ReplyBody operator()(const MergeScores&) { return MergedScores{cluster.auc}; }
  ReplyBody operator()(const ExportModel&) {
    cluster.unnamed_models.insert(job());
    return Exported{10};
  }
  ReplyBody operator()(const PublishModel&) {
    cluster.unnamed_models.erase(job());
    cluster.models.insert(job());
    return Published{"sha256:abc", ""};
  }
  ReplyBody operator()(const Abandon&) {
    cluster.unnamed_models.erase(job());
    return {};
  }
  ReplyBody operator()(const AnswerEpoch& answer) {
    cluster.epoch_answers[answer.waiter] = answer;
    return {};
  }
  ReplyBody operator()(const LogLine& line) {
    cluster.logs[job()].push_back(line.text);
    return {};
  }
  ReplyBody operator()(const WriteRecord& record) {
    cluster.records[job()] = record.view;
    return {};
  }
  ReplyBody operator()(const ForgetJob&) {
    cluster.logs.erase(job());
    return {};
  }
  ReplyBody operator()(const NoteLostNode& lost) {
    cluster.lost_nodes.push_back(lost.node.name);
    return {};
  }
  ReplyBody operator()(const RemoveFiles& remove) {
    for (const std::string& file : remove.files) {
      cluster.spool_files.erase(file);
    }
    return {};
  }
};

void FakeCluster::CarryOutLate(const Order& order) {
  const bool begins = std::holds_alternative<RunRanks>(order.body) ||
                      std::holds_alternative<AssignPartitions>(order.body);
  if (begins && !silent_.contains(order.to->name) &&
      nodes_.at(order.to->name).incarnation == order.to->incarnation) {
    std::visit(CarryOut{*this, order}, order.body);
  }
}

bool FakeCluster::AllStandAt(const std::string& job, const TakeCut& take) {
  const std::vector<RankReading>& ranks = ledgers[job].ranks;
  for (size_t rank = 0; rank < take.clocks.size(); ++rank) {
    const Clock clock = rank < ranks.size() ? ranks[rank].clock : Clock();
    if (clock.epoch < take.clocks[rank].epoch) return false;
  }
  return true;
}

void FakeCluster::Run() {
  while (!queue_.empty()) {
    const Order order = std::move(queue_.front());
    queue_.pop_front();
    if (held_kinds_.contains(order.body.index())) {
      held_.push_back(order);
      continue;
    }
    Reply reply;
    reply.order = order.id;
    if (std::holds_alternative<Abandon>(order.body)) {
      CarryOutLate(late_.extract(order.id).mapped());
      reply.status = absl::CancelledError("given up");
    } else if (order.to.has_value() && (silent_.contains(order.to->name) ||
                                        nodes_.at(order.to->name).incarnation !=
                                            order.to->incarnation)) {
      if (silent_.contains(order.to->name)) {
        held_.push_back(order);  // No answer.
        continue;
      }
      reply.status = absl::FailedPreconditionError("another incarnation");
    } else {
      reply.status = TakeFailure(order);
    }
    if (const auto* take = std::get_if<TakeCut>(&order.body);
        take != nullptr && reply.status.ok() &&
        !AllStandAt(order.job.id, *take)) {
      reply.status = absl::AbortedError("the hold has ended");
    }
    if (reply.status.ok()) {
      carried_out.push_back(order);
      reply.body = std::visit(CarryOut{*this, order}, order.body);
    } else if (std::holds_alternative<PublishModel>(order.body) ||
               std::holds_alternative<Abandon>(order.body)) {
      unnamed_models.erase(order.job.id);
    }
    if (reply.order != 0) Handle(OrderReplied{reply});
  }
}

bool FakeCluster::HoldsNothing(const std::string& job) const {
  for (const JobsByNode* place : {&tables, &activity}) {
    for (const auto& [node, jobs] : *place) {
      if (jobs.contains(job) && !silent_.contains(node)) return false;
    }
  }
  for (const std::string& file : spool_files) {
    if (file.find(job) != std::string::npos) return false;
  }
  return !unnamed_models.contains(job) && core_->IsFreed(job);
}

}  // namespace seraph
