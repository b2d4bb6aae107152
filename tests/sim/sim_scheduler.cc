#include "tests/sim/sim_scheduler.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/manifest.h"
#include "common/status/status_macros.h"
#include "common/version/version.h"
#include "common/wire/dataset_codec.h"
#include "common/wire/replica_codec.h"
#include "scheduler/io/job_record.h"
#include "scheduler/service/order_codec.h"
#include "scheduler/service/replica_order_codec.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_server.h"
#include "tests/sim/sim_worker.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;

}  // namespace

SimScheduler::SimScheduler(ClusterWorld* world, int machine,
                           SimSchedulerDisk* disk, SchedulerOptions options,
                           SimElection* election, int election_machine)
    : world_(*world),
      loop_(*world->loop),
      machine_(machine),
      disk_(*disk),
      options_(std::move(options)),
      clock_(world->loop->ClockOf(machine)),
      election_(election),
      election_machine_(election_machine) {}

SimScheduler::~SimScheduler() { *alive_ = false; }

Moment SimScheduler::Now() const {
  return {clock_->Now(), absl::FromUnixSeconds(1'700'000'000) + loop_.now()};
}

void SimScheduler::Start() {
  if (election_ != nullptr) return Campaign();
  term_ = ++disk_.term;
  Lead();
}

void SimScheduler::Lead() {
  auto core = SchedulerCore::Restore(options_, disk_.records, Now());
  if (!core.ok()) {
    world_.checker->Report(
        absl::StrCat("the stored state: ", core.status().ToString()));
    return;
  }
  core_ = *std::move(core);
  Tick();
}

std::unique_ptr<BlobFolder> SimScheduler::OpenFolder(const std::string& path) {
  return world_.disk->Open(path, alive_);
}

void SimScheduler::Tick() {
  loop_.After(world_.timeout / 10, machine_, "tick", [this] { Tick(); });
  Handle(TimePassed{});
}

// Elections -------------------------------------------------------------------

// Until it leads; the answer has what is stored then.
void SimScheduler::Campaign() {
  struct Won {
    uint64_t lease = 0, term = 0;
    std::string last;
  };
  const absl::Duration sent = clock_->Now();
  world_.network->Call<Won>(
      machine_, election_machine_, "campaign", Milliseconds(100),
      [election = election_, lease = lease_](SimNetwork::Answer<Won> answer) {
        Won won{.lease = lease};
        if (lease == 0 || !election->KeepUp(lease)) {
          won.lease = election->Grant();
        }
        won.term = election->Campaign(won.lease).value_or(0);
        won.last = election->last();
        answer(won);
      },
      [this, sent](absl::StatusOr<Won> won) {
        if (won.ok()) lease_ = won->lease;
        if (!won.ok() || won->term == 0) {
          loop_.After(Milliseconds(30), machine_, "campaign again",
                      [this] { Campaign(); });
          return;
        }
        term_ = won->term;
        last_ = won->last;
        lease_until_ = sent + SimElection::kLease;
        loop_.Tell(machine_,
                   [&] { return absl::StrCat("### leads, term ", term_); });
        ++world_.counts["elections"];
        KeepUp();
        Lead();
      });
}

void SimScheduler::KeepUp() {
  if (dead_) return;
  const absl::Duration sent = clock_->Now();
  world_.network->Call<bool>(
      machine_, election_machine_, "keep alive", Milliseconds(100),
      [election = election_, lease = lease_](SimNetwork::Answer<bool> answer) {
        answer(election->KeepUp(lease));
      },
      [this, sent](absl::StatusOr<bool> kept) {
        if (dead_) return;
        if (kept.ok() && !*kept) return Depose("its lease has run out");
        if (kept.ok()) {
          lease_until_ = std::max(lease_until_, sent + SimElection::kLease);
        } else if (!HoldsLease()) {
          return Depose("its lease is not kept up");
        }
        loop_.After(SimElection::kLease / 5, machine_, "keep alive",
                    [this] { KeepUp(); });
      });
}

void SimScheduler::Depose(const char* why) {
  if (dead_) return;
  dead_ = true;
  ++world_.counts["deposed"];
  loop_.Tell(machine_, [&] { return absl::StrCat("### is deposed: ", why); });
  deposed();
}

void SimScheduler::StoreThen(SimElection::Transaction transaction,
                             std::function<void()> then) {
  world_.network->Call<int>(
      machine_, election_machine_, "commit", Milliseconds(100),
      [election = election_, transaction](SimNetwork::Answer<int> answer) {
        const absl::Status status = election->Commit(transaction);
        if (status.ok()) {
          answer(1);
        } else {
          answer(status);
        }
      },
      [this, transaction, then](absl::StatusOr<int> reply) {
        if (dead_) return;
        if (reply.ok()) {
          last_ = transaction.name;
          return then();
        }
        if (absl::IsFailedPrecondition(reply.status()) || !HoldsLease()) {
          return Depose("it cannot store");
        }
        // The same again: it may have been done.
        loop_.After(Milliseconds(10), machine_, "commit again",
                    [this, transaction, then] {
                      if (!dead_) StoreThen(transaction, then);
                    });
      });
}

// Events ----------------------------------------------------------------------

std::string SimScheduler::NewestCheckpoint() const {
  for (const JobView& job : core_->Jobs()) {
    if (!job.checkpoint.has_value()) continue;
    const std::string& path = job.checkpoint->path;
    return path.substr(path.rfind('/') + 1);
  }
  return "";
}

void SimScheduler::Commit(const StateWrites& writes,
                          const std::string& newest) {
  for (const StateWrite& write : writes) {
    loop_.Tell(machine_, [&] {
      return absl::StrCat("stores ", write.key,
                          write.value.has_value() ? "" : " (gone)");
    });
    if (write.value.has_value()) {
      disk_.records[write.key] = *write.value;
    } else {
      disk_.records.erase(write.key);
    }
  }
  if (!newest.empty()) world_.checks->CutStored(newest);
}

void SimScheduler::Handle(const Event& event, Done done) {
  const auto refuse = [&done] {
    if (done != nullptr) done(absl::UnavailableError("no scheduler any more"));
  };
  if (!dead_ && !MayAct()) Depose("its lease is over");
  if (dead_) return refuse();
  Outcome outcome = core_->Handle(event, Now());
  if (pending_share_.has_value() && outcome.status.ok()) {
    world_.checks->ShareTaken(term_, pending_share_->job,
                              pending_share_->rank.rank, pending_share_->epoch,
                              pending_share_->saw_later);
    pending_share_.reset();
  }
  if (!outcome.fatal.ok()) {
    // One that was deposed, and does not know it yet, knows less than others.
    if (election_ != nullptr && election_->term() != term_) {
      Depose("others know more");
      return refuse();
    }
    world_.checker->Report(
        absl::StrCat("the scheduler: ", outcome.fatal.ToString()));
  }
  Decided decided{.writes = std::move(outcome.writes),
                  .newest = "",
                  .orders = std::move(outcome.orders),
                  .status = std::move(outcome.status),
                  .done = std::move(done)};
  if (!decided.writes.empty()) decided.newest = NewestCheckpoint();
  // A heartbeat's answer has no reason that must be stored first.
  if (storing_ && decided.writes.empty() && decided.orders.empty() &&
      std::holds_alternative<NodeHeartbeat>(event)) {
    if (decided.done != nullptr) decided.done(decided.status);
    return;
  }
  queue_.push_back(std::move(decided));
  Pump();
}

void SimScheduler::Pump() {
  if (pumping_ || storing_) return;
  pumping_ = true;
  while (!queue_.empty() && !dead_ && !storing_) {
    std::vector<Decided> batch;
    batch.swap(queue_);
    SimElection::Transaction transaction;
    std::string newest;
    for (const Decided& decided : batch) {
      transaction.writes.insert(transaction.writes.end(),
                                decided.writes.begin(), decided.writes.end());
      if (!decided.writes.empty()) newest = decided.newest;
    }
    if (transaction.writes.empty()) {
      CarryAll(std::move(batch));
      continue;
    }
    const Death how = death == nullptr ? Death::kNone : death();
    if (how == Death::kBeforeCommit) {
      dead_ = true;
    } else if (election_ == nullptr) {
      Commit(transaction.writes, newest);
      dead_ = how == Death::kBehindCommit;
      if (!dead_) CarryAll(std::move(batch));
    } else {
      storing_ = true;
      transaction.term = term_;
      transaction.before = last_;
      transaction.name = absl::StrCat(term_, ".", ++transactions_);
      transaction.stored = [checks = world_.checks, newest] {
        if (!newest.empty()) checks->CutStored(newest);
      };
      auto kept = std::make_shared<std::vector<Decided>>(std::move(batch));
      StoreThen(std::move(transaction), [this, kept] {
        storing_ = false;
        CarryAll(std::move(*kept));
        Pump();
      });
      // It dies while that is under way.
      dead_ = how == Death::kBehindCommit;
    }
  }
  pumping_ = false;
}

void SimScheduler::CarryAll(std::vector<Decided> batch) {
  for (Decided& decided : batch) {
    for (Order& order : decided.orders) {
      if (dead_) return;
      if (!careless && !MayAct()) return Depose("its lease is over");
      Carry(std::move(order));
    }
    if (dead_ || decided.done == nullptr) continue;
    if (!MayAct()) return Depose("its lease is over");
    decided.done(decided.status);
  }
}

void SimScheduler::Reply(OrderId id, absl::StatusOr<ReplyBody> body) {
  if (id == 0) return;
  seraph::Reply reply;
  reply.order = id;
  reply.status = body.status();
  if (body.ok()) reply.body = *std::move(body);
  Handle(OrderReplied{std::move(reply)});
}

// What each kind of order does.
struct SimScheduler::CarryOut {
  SimScheduler& it;
  Order& order;

  ClusterWorld& world() const { return it.world_; }
  absl::Duration timeout() const { return it.world_.call_timeout; }

  // A call of a node; `serve` finds who lives there then.
  template <typename Answer, typename Serve, typename Decode>
  void CallNode(const char* what, absl::Duration timeout, Serve serve,
                Decode decode) {
    SimScheduler* scheduler = &it;
    const OrderId id = order.id;
    it.loop_.Tell(it.machine_, [&] {
      return absl::StrCat("orders ", order.to->name, ": ", what, " #", id);
    });
    world().network->Call<Answer>(
        it.machine_, world().machine_of.at(order.to->name), what, timeout,
        serve, [scheduler, id, what, decode](absl::StatusOr<Answer> answer) {
          scheduler->loop_.Tell(scheduler->machine_, [&] {
            return absl::StrCat(what, " #", id, ": ",
                                answer.status().ToString());
          });
          if (answer.ok()) {
            scheduler->Reply(id, decode(*answer));
          } else {
            scheduler->Reply(id, answer.status());
          }
        });
  }

  template <typename Answer, typename Request, typename Decode>
  void CallServer(const char* what, Request request,
                  void (SimServer::*method)(const Request&,
                                            SimServer::Then<Answer>),
                  absl::Duration timeout, Decode decode) {
    if constexpr (requires { request.set_term(0); }) {
      request.set_term(it.term_);
    }
    const int to = world().machine_of.at(order.to->name);
    CallNode<Answer>(
        what, timeout,
        [world = &world(), to, method, request](auto answer) {
          SimServer* server = world->ServerAt(to);
          if (server != nullptr) (server->*method)(request, answer);
        },
        decode);
  }

  template <typename Request>
  void CallWorker(const char* what, Request request,
                  absl::Status (SimWorker::*method)(const Request&)) {
    request.set_term(it.term_);
    const int to = world().machine_of.at(order.to->name);
    CallNode<int>(
        what, timeout(),
        [world = &world(), to, method, request](auto answer) {
          SimWorker* worker = world->WorkerAt(to);
          if (worker == nullptr) return;
          const absl::Status status = (worker->*method)(request);
          if (status.ok()) {
            answer(1);
          } else {
            answer(status);
          }
        },
        [](int) { return absl::StatusOr<ReplyBody>(ReplyBody()); });
  }

  template <typename Answer>
  static absl::StatusOr<ReplyBody> Nothing(const Answer&) {
    return ReplyBody();
  }

  // Work of the shell, which takes a while.
  void Here(const char* what, std::function<absl::StatusOr<ReplyBody>()> work) {
    SimScheduler* scheduler = &it;
    it.loop_.After(it.loop_.Between(absl::Microseconds(100), Milliseconds(5)),
                   it.machine_, what, [scheduler, id = order.id, work] {
                     scheduler->Reply(id, work());
                   });
  }

  // To workers ----------------------------------------------------------------

  void operator()(const ScanPiece& piece) {
    const auto request = ScanRequestOf(order.job, *order.to, piece);
    const int to = world().machine_of.at(order.to->name);
    CallNode<v1::ScanReply>(
        "scan", timeout(),
        [world = &world(), to, request](auto answer) {
          SimWorker* worker = world->WorkerAt(to);
          if (worker != nullptr) answer(worker->Scan(request));
        },
        [](const v1::ScanReply& reply) -> absl::StatusOr<ReplyBody> {
          SERAPH_ASSIGN_OR_RETURN(DatasetFacts facts, FromProto(reply.facts()));
          return facts;
        });
  }

  void operator()(const RunRanks& run) {
    CallWorker("run ranks", RunRanksRequestOf(order.job, *order.to, run),
               &SimWorker::RunRanks);
  }

  void operator()(const UpdatePlacements& update) {
    CallWorker("update placements",
               UpdateRequestOf(order.job, *order.to, update),
               &SimWorker::UpdatePlacements);
  }

  void operator()(const StopJob&) {
    v1::StopJobRequest request;
    request.set_incarnation(order.to->incarnation);
    ToProto(order.job, request.mutable_job());
    CallWorker("stop job", request, &SimWorker::StopJob);
  }

  // To servers ----------------------------------------------------------------

  void operator()(const AssignPartitions& assign) {
    if (order.job.generation > 1) {
      // Told once for each generation.
      world().checks->BeginsFrom(order.job.generation, assign.restore);
      std::vector<Clock> cut;
      if (assign.restore.has_value()) {
        const auto& cuts = world().checks->cuts();
        const auto at = cuts.find(assign.restore->manifest);
        if (at != cuts.end()) cut = at->second;
      }
      if (world().job->is_witness) {
        world().checker->WentBack(order.job.generation, cut);
      }
    }
    auto request = AssignRequestOf(order.job, *order.to, assign);
    request.clear_proof();  // All machines see one disk here.
    CallServer<v1::AssignPartitionsReply>(
        "assign", request, &SimServer::AssignPartitions, 2 * timeout(),
        [](const v1::AssignPartitionsReply& reply)
            -> absl::StatusOr<ReplyBody> {
          return Placed{reply.incarnation(), reply.generation()};
        });
  }

  void operator()(const ConfigureReplicas& configure) {
    CallServer<v1::ConfigureReply>(
        "configure", ConfigureRequestOf(order.job, *order.to, configure),
        &SimServer::Configure, timeout(), ConfiguredOf);
  }

  void operator()(const RecruitReplica& recruit) {
    CallServer<v1::RecruitReply>(
        "recruit", RecruitRequestOf(order.job, *order.to, recruit),
        &SimServer::Recruit, 3 * timeout(),
        [](const v1::RecruitReply& reply) -> absl::StatusOr<ReplyBody> {
          return Recruited{reply.epoch(), reply.recruit()};
        });
  }

  void operator()(const HandOver& hand_over) {
    CallServer<v1::HandOverReply>(
        "hand over", HandOverRequestOf(order.job, *order.to, hand_over),
        &SimServer::HandOver, timeout(),
        [](const v1::HandOverReply& reply) -> absl::StatusOr<ReplyBody> {
          return HandedOver{FromProto(reply.last())};
        });
  }

  void operator()(const BeginCut& begin) {
    CallServer<v1::BeginCutReply>(
        "begin cut", BeginCutRequestOf(order.job, *order.to, begin),
        &SimServer::BeginCut, timeout(), [](const v1::BeginCutReply& reply) {
          return absl::StatusOr<ReplyBody>(CutClocksOf(reply.clocks()));
        });
  }

  void operator()(const TakeCut& take) {
    CallServer<v1::TakeCutReply>(
        "take cut", TakeCutRequestOf(order.job, *order.to, take),
        &SimServer::TakeCut, timeout(), [](const v1::TakeCutReply& reply) {
          return absl::StatusOr<ReplyBody>(CutClocksOf(reply.clocks()));
        });
  }

  void operator()(const WriteCut& write) {
    CallServer<v1::WriteCutReply>(
        "write cut", WriteCutRequestOf(order.job, *order.to, write),
        &SimServer::WriteCut, 10 * timeout(),
        [](const v1::WriteCutReply& reply) {
          return absl::StatusOr<ReplyBody>(CutWrittenOf(reply));
        });
  }

  void operator()(const DropCut& drop) {
    CallServer<v1::DropCutReply>(
        "drop cut", DropCutRequestOf(order.job, *order.to, drop),
        &SimServer::DropCut, timeout(), Nothing<v1::DropCutReply>);
  }

  void operator()(const ReadLedger& read) {
    v1::ReadLedgerRequest request;
    ToProto(order.job, request.mutable_job());
    request.set_from_epoch(read.from_epoch);
    request.set_incarnation(order.to->incarnation);
    CallServer<v1::ReadLedgerReply>(
        "read ledger", request, &SimServer::ReadLedger, timeout(),
        [](const v1::ReadLedgerReply& reply) -> absl::StatusOr<ReplyBody> {
          return ReadingOf(reply);
        });
  }

  void operator()(const DropJob&) {
    v1::DropJobRequest request;
    ToProto(order.job, request.mutable_job());
    CallServer<v1::DropJobReply>("drop job", request, &SimServer::DropJob,
                                 timeout(), Nothing<v1::DropJobReply>);
  }

  // To the shell --------------------------------------------------------------

  void operator()(const ResolveFiles& resolve) {
    SimScheduler* scheduler = &it;
    Here("resolve files", [scheduler, resolve]() -> absl::StatusOr<ReplyBody> {
      if (resolve.checkpoints.has_value()) {
        const auto folder =
            scheduler->OpenFolder(resolve.checkpoints->directory);
        // It may be there: of a look at the files that was not answered.
        const absl::Status gone = folder->Remove(resolve.checkpoints->token);
        if (!gone.ok() && !absl::IsNotFound(gone)) return gone;
        SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<BlobWriter> token,
                                folder->Create(resolve.checkpoints->token));
        SERAPH_RETURN_IF_ERROR(token->Append("token"));
        SERAPH_RETURN_IF_ERROR(token->Sync());
      }
      return scheduler->world_.job->files;
    });
  }

  void operator()(const WriteManifest& write) {
    SimScheduler* scheduler = &it;
    Here("write manifest",
         [scheduler, job = order.job, write]() -> absl::StatusOr<ReplyBody> {
           const auto folder = scheduler->OpenFolder(write.directory);
           CheckpointManifest manifest;
           manifest.seraph_version = kVersion;
           manifest.job_id = job.id;
           manifest.job_name = write.plan->spec.name;
           manifest.generation = job.generation;
           manifest.cut = write.cut;
           manifest.time = scheduler->Now().wall;
           manifest.clocks = write.clocks;
           manifest.tables = write.plan->tables;
           manifest.parts = write.parts;
           manifest.job_yaml = write.plan->yaml;
           manifest.state = JobRecordJson(write.view);
           CheckpointFolder checkpoints(folder.get());
           ManifestWritten written;
           SERAPH_ASSIGN_OR_RETURN(written.manifest,
                                   checkpoints.Write(manifest));
           ++scheduler->world_.counts["checkpoints"];
           scheduler->world_.checks->CutWritten(folder.get(), written.manifest,
                                                manifest);
           return written;
         });
  }

  void operator()(const PruneCheckpoints& prune) {
    SimScheduler* scheduler = &it;
    Here("prune",
         [scheduler, job = order.job.id, prune]() -> absl::StatusOr<ReplyBody> {
           const auto folder = scheduler->OpenFolder(prune.directory);
           CheckpointFolder checkpoints(folder.get());
           SERAPH_RETURN_IF_ERROR(
               checkpoints.Prune(job, prune.keep, prune.newest).status());
           return ReplyBody();
         });
  }

  void operator()(const AnswerPerson& answer) {
    auto node = it.persons_.extract(answer.waiter);
    if (node.empty()) return;
    if (answer.status.ok()) {
      node.mapped()(1);
    } else {
      node.mapped()(answer.status);
    }
  }

  void operator()(const LoadInitModel&) {
    Here("load", [] { return absl::StatusOr<ReplyBody>(ReplyBody()); });
  }

  void operator()(const MergeScores&) {
    Here("merge", [] { return absl::StatusOr<ReplyBody>(MergedScores{}); });
  }

  void operator()(const ExportModel& body);

  void operator()(const PublishModel& body) {
    SimScheduler* scheduler = &it;
    Here("publish",
         [scheduler, exported = body.exported,
          job = order.job]() -> absl::StatusOr<ReplyBody> {
           auto node = scheduler->exported_.extract(exported);
           if (node.empty()) return absl::CancelledError("it was given up");
           scheduler->disk_.models[job.id] = std::move(node.mapped());
           return Published{.digest = "sha256:sim", .warning = ""};
         });
  }

  // Without a reply -----------------------------------------------------------

  void operator()(const Abandon& abandon) { it.exported_.erase(abandon.order); }

  void operator()(const AnswerEpoch& answer) {
    auto node = it.waiters_.extract(answer.waiter);
    if (node.empty()) return;
    const Waiter& waiter = node.mapped();
    if (answer.status.ok()) {
      world().checks->Decided(waiter.job, waiter.epoch, answer.stop);
      waiter.then(answer.stop);
    } else {
      waiter.then(answer.status);
    }
  }

  void operator()(const LogLine& line) {
    const bool is_void = absl::StrContains(line.text, "did not come about");
    if (is_void) ++world().counts["cuts that were void"];
    // Small windows and budgets may be slow.
    const bool is_slow = absl::StrContains(line.text, "longer than a lease");
    if (is_void && !is_slow && world().is_fair) {
      world().checker->Report(
          absl::StrCat("on a fair day, with nothing broken: ", line.text));
    }
    it.loop_.Tell(it.machine_,
                  [&] { return absl::StrCat("log: ", line.text); });
  }

  void operator()(const NoteLostNode& note) {
    ++world().counts["called dead"];
    it.world_.called_dead.insert(note.node.incarnation);
    it.loop_.Tell(it.machine_, [&] {
      return absl::StrCat("node ", note.node.name, " (", note.node.incarnation,
                          ") ", note.what);
    });
  }

  void operator()(const WriteRecord&) {}
  void operator()(const RemoveFiles&) {}
  void operator()(const ForgetJob&) {}
};

void SimScheduler::Carry(Order order) {
  std::visit(CarryOut{*this, order}, order.body);
}

// Reads all partitions, one after the other as far as they answer.
void SimScheduler::CarryOut::operator()(const ExportModel& body) {
  struct Export {
    SimSchedulerDisk::Model model;
    size_t missing = 0;
    absl::Status status;
  };
  auto all = std::make_shared<Export>();
  const std::vector<PartitionPlacement>& placements = body.plan->partitions;
  all->model.generation = order.job.generation;
  all->model.tables.resize(body.plan->tables.size());
  all->missing = placements.size();
  SimScheduler* scheduler = &it;
  for (const PartitionPlacement& placement : placements) {
    v1::ExportPartitionRequest request;
    ToProto(order.job, request.mutable_job());
    request.set_table(placement.table);
    request.set_partition(placement.partition);
    request.set_incarnation(placement.primary.incarnation);
    const auto at = world().machine_of.find(placement.primary.name);
    const int to = at == world().machine_of.end() ? it.machine_ : at->second;
    using Rows = std::map<Key, std::vector<float>>;
    world().network->Call<Rows>(
        it.machine_, to, "export", 4 * timeout(),
        [world = &world(), to, request](auto answer) {
          SimServer* server = world->ServerAt(to);
          if (server != nullptr) server->ExportPartition(request, answer);
        },
        [scheduler, all, table = placement.table,
         id = order.id](absl::StatusOr<Rows> rows) {
          if (rows.ok()) {
            all->model.tables[table].insert(rows->begin(), rows->end());
          } else {
            // As the real shell: it is elsewhere, or elsewhere soon.
            const bool moved = absl::IsNotFound(rows.status()) ||
                               absl::IsFailedPrecondition(rows.status());
            all->status = moved ? absl::AbortedError(rows.status().message())
                                : rows.status();
          }
          if (--all->missing > 0) return;
          if (!all->status.ok()) return scheduler->Reply(id, all->status);
          scheduler->exported_[id] = std::move(all->model);
          scheduler->Reply(id, ReplyBody(Exported{}));
        });
  }
}

// Calls
// --------------------------------------------------------------------------

namespace {

// Passes an error on, or what `value` makes.
template <typename T, typename Value>
std::function<void(const absl::Status&)> Answering(
    std::function<void(absl::StatusOr<T>)> then, Value value) {
  return [then, value](const absl::Status& status) {
    if (status.ok()) {
      then(value());
    } else {
      then(status);
    }
  };
}

}  // namespace

void SimScheduler::Register(const Node& node, uint64_t term,
                            std::vector<HeldPartition> held,
                            Then<uint64_t> then) {
  if (term > term_) {
    // It knows less than this node: another one leads.
    if (election_ == nullptr) {
      world_.checker->Report(absl::StrCat(node.name, " has heard of term ",
                                          term, ", and this is ", term_));
    } else {
      Depose("a node has heard of a higher term");
    }
    return then(absl::UnavailableError("another scheduler leads"));
  }
  NodeRegistered event;
  event.node = node;
  event.held = std::move(held);
  Handle(event, Answering<uint64_t>(then, [this] { return term_; }));
}

void SimScheduler::Heartbeat(const NodeHeartbeat& event, Then<Beat> then) {
  Handle(event, Answering<Beat>(then, [this, incarnation = event.incarnation] {
           return Beat{term_, core_->IsDrained(incarnation)};
         }));
}

void SimScheduler::ReportRank(const v1::ReportRankRequest& request,
                              Then<int> then) {
  RankEnded event;
  event.job = FromProto(request.job());
  event.rank = FromProto(request.rank());
  event.incarnation = request.incarnation();
  if (request.code() != 0) {
    event.status = absl::Status(static_cast<absl::StatusCode>(request.code()),
                                request.message());
  }
  Tell(event, then);
}

void SimScheduler::FinishEpoch(const SimShare& share, Then<bool> then) {
  EpochShared event;
  event.job = share.job;
  event.share.rank = share.rank;
  event.share.epoch = share.epoch;
  event.share.sums = share.sums;
  const uint64_t waiter = event.waiter = ++last_waiter_;
  waiters_[waiter] = {share.job, share.epoch, then};
  pending_share_ = share;
  Handle(event, [this, waiter, then](const absl::Status& status) {
    if (!status.ok() && waiters_.erase(waiter) > 0) then(status);
  });
  pending_share_.reset();
}

void SimScheduler::Pause(const std::string& job, Then<int> then) {
  Person(then, [&](uint64_t waiter) { return JobPaused{job, waiter}; });
}

void SimScheduler::Checkpoint(const std::string& job, Then<int> then) {
  Person(then, [&](uint64_t waiter) { return CheckpointAsked{job, waiter}; });
}

template <typename MakeEvent>
void SimScheduler::Person(Then<int> then, MakeEvent make_event) {
  const uint64_t waiter = ++last_waiter_;
  persons_[waiter] = then;
  Handle(make_event(waiter), [this, waiter, then](const absl::Status& status) {
    if (!status.ok() && persons_.erase(waiter) > 0) then(status);
  });
}

void SimScheduler::Tell(const Event& event, Then<int> then) {
  Handle(event, Answering<int>(then, [] { return 1; }));
}

void SimScheduler::Submit(const JobSubmitted& event, Then<std::string> then) {
  Handle(event, Answering<std::string>(then, [id = event.id] { return id; }));
}

}  // namespace seraph::testing
