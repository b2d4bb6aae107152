#include "tests/sim/sim_server.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/table/partitioning.h"
#include "common/wire/spelled_parts.h"
#include "server/service/ledger_codec.h"
#include "server/service/order_codec.h"
#include "server/service/peer_codec.h"
#include "tests/sim/sim_disk.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;

// A rank's progress as the ledger tells it: as server/service does.
void EncodeRank(const RankProgress& progress, uint32_t from_epoch,
                v1::RankLedger* message) {
  message->mutable_clock()->set_epoch(progress.next.epoch);
  message->mutable_clock()->set_step(progress.next.step);
  message->set_attempt(progress.attempt);
  for (const LedgerRecord& record : progress.ledger) {
    EncodeLedger(record, message->add_records());
  }
  for (size_t e = from_epoch; e < progress.epoch_ends.size(); ++e) {
    EncodeLedger(progress.epoch_ends[e], message->add_epoch_ends());
  }
}

}  // namespace

class SimServer::Peers final : public PeerSender {
 public:
  explicit Peers(SimServer* server) : server_(*server) {}

  void Send(const Node& to, const JobName& job, PeerMessage body) override {
    v1::ReplicaMessage message = EncodePeer(job, std::move(body));
    ClusterWorld& world = server_.world_;
    const auto at = world.machine_of.find(to.name);
    if (at == world.machine_of.end()) return;
    const int machine = at->second;
    world.loop->Tell(server_.machine_, [&] {
      static constexpr const char* kNames[] = {
          "?",    "",        "",         "",        "",     "",
          "",     "",        "",         "",        "ask",  "tell",
          "ping", "confirm", "snapshot", "forward", "taken"};
      return absl::StrCat("  ", kNames[message.body_case()], " ",
                          message.table(), "/", message.partition(), " epoch ",
                          message.epoch(), " to ", to.name);
    });
    const SimNetwork::Counts before = world.network->counts();
    const bool forwards = message.has_forward();
    world.network->Send(
        server_.machine_, machine, "peer",
        [world = &world, machine, message = std::move(message)] {
          SimServer* server = world->ServerAt(machine);
          if (server != nullptr) server->Deliver(message);
        },
        world.streams);
    const SimNetwork::Counts& after = world.network->counts();
    // Noticed somewhat later, once for all that was lost until then.
    if (world.streams && (after.lost > before.lost || after.cut > before.cut) &&
        broken_.insert(to.incarnation).second) {
      world.loop->After(world.loop->Between(Milliseconds(5), Milliseconds(50)),
                        server_.machine_, "link broken",
                        [this, peer = to.incarnation] {
                          broken_.erase(peer);
                          server_.jobs_->OnLinkBroken(peer);
                        });
    }
    if (forwards && world.dies != nullptr) world.dies(server_.machine_);
  }

 private:
  SimServer& server_;
  std::set<uint64_t> broken_;  // Peers that will be told.
};

SimServer::SimServer(ClusterWorld* world, int machine, Node node)
    : world_(*world),
      machine_(machine),
      node_(std::move(node)),
      executor_(world->loop, machine),
      files_executor_(world->loop, machine),
      peers_(std::make_unique<Peers>(this)),
      files_([disk = world->disk, alive = alive_](const std::string& path) {
        return disk->Open(path, alive);
      }) {
  jobs_ = std::make_unique<JobDirectory>(
      JobDirectoryParts{.executor = &executor_,
                        .files = &files_executor_,
                        .clock = world->loop->ClockOf(machine),
                        .peers = peers_.get()},
      JobDirectoryOptions{.incarnation = node_.incarnation,
                          .memory_limit_bytes = uint64_t{1} << 30,
                          .inflight_limit_bytes = world->inflight_bytes});
  calls_.emplace(jobs_.get());
  orders_.emplace(jobs_.get(), &terms_, &files_, &files_executor_);
}

SimServer::~SimServer() {
  *alive_ = false;
  world_.counts["refused for want of room"] += jobs_->admission().refusals();
  files_executor_.Close();
  executor_.Close();
  jobs_.reset();
}

void SimServer::Start() { Tick(); }

void SimServer::Tick() {
  jobs_->Tick();
  calls_->Tick(world_.loop->now());
  world_.loop->After(world_.lease / 40, machine_, "tick", [this] { Tick(); });
}

template <typename Body>
void SimServer::Meet(const Body& body,
                     const std::shared_ptr<std::vector<Met>>& met) {
  const v1::RequestHeader& header = body.header();
  for (const auto& part : body.parts()) {
    const size_t place = met->size();
    met->emplace_back();
    for (const auto& job : jobs_->All()) {
      if (job->name.id != header.job().id()) continue;
      PartitionActor* actor = job->Find(part.table(), part.partition());
      if (actor == nullptr) continue;
      (*met)[place].generation = job->name.generation;
      actor->Run(
          [met, place, rank = header.rank().rank()](Partition* partition) {
            if (partition == nullptr || !partition->holds()) return;
            (*met)[place].epoch = partition->epoch();
            (*met)[place].attempt = partition->state().rank(rank).attempt;
          });
    }
  }
}

template <typename Body, typename Results>
void SimServer::CheckTaken(const Body& body, const Results& results,
                           const std::vector<Met>& met, size_t first) {
  if (results.size() != body.parts_size()) return;
  for (int i = 0; i < results.size(); ++i) {
    if (results[i].code() != v1::PART_OK) continue;
    const Met& here = met[first + i];
    if (body.header().job().generation() < here.generation) {
      world_.checker->Report(absl::StrCat(node_.name,
                                          " takes a request of generation ",
                                          body.header().job().generation(),
                                          " in generation ", here.generation));
    }
    // Another life of the job may have begun since it came.
    if (body.header().job().generation() != here.generation) continue;
    if (body.parts(i).epoch() < here.epoch) {
      world_.checker->Report(
          absl::StrCat(node_.name, " takes a request of epoch ",
                       body.parts(i).epoch(), " in epoch ", here.epoch));
    }
    if (body.header().rank().attempt() < here.attempt) {
      world_.checker->Report(absl::StrCat(
          node_.name, " takes a request of rank ", body.header().rank().rank(),
          "'s attempt ", body.header().rank().attempt(), " where attempt ",
          here.attempt, " has begun"));
    }
  }
}

void SimServer::Exchange(const v1::ExchangeRequest& request,
                         Then<v1::ExchangeReply> then) {
  if (world_.stray == 0) {
    return calls_->Exchange(request, {}, [then](auto reply, auto hold) {
      then(WholeReply(std::move(reply)));
    });
  }
  // These come before the request in each partition's queue.
  const auto met = std::make_shared<std::vector<Met>>();
  if (request.has_push()) Meet(Spelled(request.push()), met);
  if (request.has_pull()) Meet(request.pull(), met);
  if (request.has_push_pull()) {
    Meet(Spelled(request.push_pull().push()), met);
    Meet(request.push_pull().pull(), met);
  }
  calls_->Exchange(
      request, {},
      [this, alive = alive_, request, met, then](auto with_rows, auto hold) {
        if (!*alive) return;
        v1::ExchangeReply reply = WholeReply(std::move(with_rows));
        if (reply.error_code() == 0) {
          CheckTaken(Spelled(request.push()), Spelled(reply.push()).results(),
                     *met, 0);
          CheckTaken(request.pull(), reply.pull().results(), *met, 0);
          const auto& both = request.push_pull();
          const auto& answers = reply.push_pull();
          CheckTaken(Spelled(both.push()), Spelled(answers.push()).results(),
                     *met, 0);
          CheckTaken(both.pull(), answers.pull().results(), *met,
                     PartsOf(both.push()));
        }
        then(std::move(reply));
      });
}

void SimServer::BeginAttempt(const v1::BeginAttemptRequest& request,
                             Then<v1::BeginAttemptReply> then) {
  calls_->BeginAttempt(request, then);
}

template <typename Request, typename Reply>
SimServer::Then<Reply> SimServer::Watched(const char* what,
                                          const Request& request,
                                          Then<Reply> then) {
  std::string wrong;
  const uint64_t generation = request.job().generation();
  uint64_t& highest = generations_[request.job().id()];
  // To drop what is there no more is only confirmed.
  constexpr bool kDrops = std::is_same_v<Request, v1::DropJobRequest>;
  constexpr bool kFrees = kDrops || std::is_same_v<Request, v1::DropCutRequest>;
  if (request.incarnation() != node_.incarnation &&
      !(kDrops && request.incarnation() == 0)) {
    wrong = "for another start of the server";
  } else if (request.term() < terms_.highest()) {
    wrong = "of a scheduler that was replaced";
  } else if (!kFrees && generation < highest) {
    wrong = "of an older generation";
  } else if (!kFrees && generation <= dropped_[request.job().id()]) {
    wrong = "of a generation that was dropped";
  } else {
    highest = std::max(highest, generation);
    if (kDrops) {
      uint64_t& dropped = dropped_[request.job().id()];
      dropped = std::max(dropped, generation);
    }
  }
  if (wrong.empty()) return then;
  return [this, what, wrong, then](absl::StatusOr<Reply> reply) {
    if (reply.ok()) {
      world_.checker->Report(absl::StrCat(node_.name, " carries out an order (",
                                          what, ") that is ", wrong));
    }
    then(std::move(reply));
  };
}

template <typename Request, typename Reply, typename Method>
void SimServer::Carry(const char* what, const Request& request, Method method,
                      Then<Reply> then) {
  ((*orders_).*method)(request, Watched(what, request, then));
  if (world_.stray == 0 || !world_.loop->Happens(4 * world_.stray)) return;
  // The same under a name that cannot be good any more.
  Request stray = request;
  const uint64_t generation = request.job().generation();
  const int kind = world_.loop->Below(3);
  constexpr bool kDrops = std::is_same_v<Request, v1::DropJobRequest>;
  if (kind == 0) {
    stray.set_incarnation(node_.incarnation + 1);
  } else if (kind == 1 && terms_.highest() > 1) {
    stray.set_term(terms_.highest() - 1);
  } else if (kind == 2 && generation > 1 && !kDrops &&
             !std::is_same_v<Request, v1::DropCutRequest> &&
             generations_[request.job().id()] >= generation) {
    stray.mutable_job()->set_generation(generation - 1);
  } else {
    return;
  }
  ++world_.counts["stray orders"];
  ((*orders_).*method)(stray, [this, alive = alive_, what,
                               kind](absl::StatusOr<Reply> reply) {
    if (!*alive || !reply.ok()) return;
    static constexpr const char* kNames[] = {"incarnation", "term",
                                             "generation"};
    world_.checker->Report(absl::StrCat(node_.name, " carries out an order (",
                                        what, ") of another ", kNames[kind]));
  });
}

void SimServer::AssignPartitions(const v1::AssignPartitionsRequest& request,
                                 Then<v1::AssignPartitionsReply> then) {
  Carry("assign", request, &ReplicaCalls::AssignPartitions, then);
}
void SimServer::DropJob(const v1::DropJobRequest& request,
                        Then<v1::DropJobReply> then) {
  Carry("drop job", request, &ReplicaCalls::DropJob, then);
}
void SimServer::Configure(const v1::ConfigureRequest& request,
                          Then<v1::ConfigureReply> then) {
  Carry("configure", request, &ReplicaCalls::Configure, then);
}
void SimServer::Recruit(const v1::RecruitRequest& request,
                        Then<v1::RecruitReply> then) {
  Carry("recruit", request, &ReplicaCalls::Recruit, then);
}
void SimServer::HandOver(const v1::HandOverRequest& request,
                         Then<v1::HandOverReply> then) {
  Carry("hand over", request, &ReplicaCalls::HandOver, then);
}
void SimServer::BeginCut(const v1::BeginCutRequest& request,
                         Then<v1::BeginCutReply> then) {
  Carry("begin cut", request, &ReplicaCalls::BeginCut, then);
}
void SimServer::TakeCut(const v1::TakeCutRequest& request,
                        Then<v1::TakeCutReply> then) {
  Carry("take cut", request, &ReplicaCalls::TakeCut, then);
}
void SimServer::WriteCut(const v1::WriteCutRequest& request,
                         Then<v1::WriteCutReply> then) {
  Carry("write cut", request, &ReplicaCalls::WriteCut, then);
}
void SimServer::DropCut(const v1::DropCutRequest& request,
                        Then<v1::DropCutReply> then) {
  Carry("drop cut", request, &ReplicaCalls::DropCut, then);
}

void SimServer::ReadLedger(const v1::ReadLedgerRequest& request,
                           Then<v1::ReadLedgerReply> then) {
  if (request.incarnation() != 0 &&
      request.incarnation() != node_.incarnation) {
    return then(absl::FailedPreconditionError("another incarnation"));
  }
  const auto job = jobs_->Find(JobNameOf(request.job()));
  if (!job.ok()) return then(job.status());
  PartitionActor* ledger = (*job)->Find(0, 0);
  if (ledger == nullptr) return then(absl::NotFoundError("not here"));
  ledger->Run([then, generation = (*job)->name.generation,
               from_epoch = request.from_epoch()](Partition* partition) {
    if (partition == nullptr || !partition->leads()) {
      return then(absl::NotFoundError("the ledger is not led here"));
    }
    v1::ReadLedgerReply reply;
    reply.set_generation(generation);
    reply.set_failure(partition->failure());
    const PartitionState& state = partition->state();
    for (uint32_t rank = 0; rank < state.ranks(); ++rank) {
      EncodeRank(state.rank(rank), from_epoch, reply.add_ranks());
    }
    then(std::move(reply));
  });
}

void SimServer::ExportPartition(const v1::ExportPartitionRequest& request,
                                Then<Rows> then) {
  if (request.incarnation() != node_.incarnation &&
      !IsPlanted(PlantedBug::kOrderFillsNewIncarnation)) {
    return then(absl::FailedPreconditionError("another incarnation"));
  }
  const auto job = jobs_->Find(JobNameOf(request.job()));
  if (!job.ok()) return then(job.status());
  PartitionActor* actor = (*job)->Find(request.table(), request.partition());
  if (actor == nullptr) return then(absl::NotFoundError("not here"));
  actor->Run([then](Partition* partition) {
    if (partition == nullptr || !partition->leads()) {
      return then(absl::NotFoundError("not led here"));
    }
    then(RowsOf(*partition));
  });
}

SimServer::Rows SimServer::RowsOf(const Partition& partition) {
  const PartitionState& state = partition.state();
  const TableSpec& table = partition.options().table;
  const auto cursor = state.store().Cursor();
  Rows rows;
  while (true) {
    std::vector<Key> keys;
    std::vector<float> values;
    cursor->Next(100, state.sums(), &keys, &values);
    if (keys.empty()) return rows;
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[keys[i]].assign(values.begin() + i * table.width,
                           values.begin() + (i + 1) * table.width);
    }
  }
}

void SimServer::Deliver(const v1::ReplicaMessage& message) {
  orders_->Deliver(message, [] {});
}

void SimServer::Look(
    const std::function<void(const JobName&, const Partition&)>& look) {
  for (const auto& job : jobs_->All()) {
    for (const auto& [place, actor] : job->partitions) {
      actor->Run([look, name = job->name](Partition* partition) {
        if (partition != nullptr) look(name, *partition);
      });
    }
  }
}

}  // namespace seraph::testing
