#include "tests/sim/sim_server.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/table/partitioning.h"
#include "server/service/ledger_codec.h"
#include "server/service/order_codec.h"
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

  void Send(const Node& to, v1::ReplicaMessage message) override {
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

void SimServer::Exchange(const v1::ExchangeRequest& request,
                         Then<v1::ExchangeReply> then) {
  calls_->Exchange(request, [then](v1::ExchangeReply reply, auto hold) {
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

void SimServer::AssignPartitions(const v1::AssignPartitionsRequest& request,
                                 Then<v1::AssignPartitionsReply> then) {
  orders_->AssignPartitions(request, Watched("assign", request, then));
}
void SimServer::DropJob(const v1::DropJobRequest& request,
                        Then<v1::DropJobReply> then) {
  orders_->DropJob(request, Watched("drop job", request, then));
}
void SimServer::Configure(const v1::ConfigureRequest& request,
                          Then<v1::ConfigureReply> then) {
  orders_->Configure(request, Watched("configure", request, then));
}
void SimServer::Recruit(const v1::RecruitRequest& request,
                        Then<v1::RecruitReply> then) {
  orders_->Recruit(request, Watched("recruit", request, then));
}
void SimServer::HandOver(const v1::HandOverRequest& request,
                         Then<v1::HandOverReply> then) {
  orders_->HandOver(request, Watched("hand over", request, then));
}
void SimServer::BeginCut(const v1::BeginCutRequest& request,
                         Then<v1::BeginCutReply> then) {
  orders_->BeginCut(request, Watched("begin cut", request, then));
}
void SimServer::TakeCut(const v1::TakeCutRequest& request,
                        Then<v1::TakeCutReply> then) {
  orders_->TakeCut(request, Watched("take cut", request, then));
}
void SimServer::WriteCut(const v1::WriteCutRequest& request,
                         Then<v1::WriteCutReply> then) {
  orders_->WriteCut(request, Watched("write cut", request, then));
}
void SimServer::DropCut(const v1::DropCutRequest& request,
                        Then<v1::DropCutReply> then) {
  orders_->DropCut(request, Watched("drop cut", request, then));
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
