#include "tests/sim/partition_sim.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/planted_bug.h"
#include "tests/sim/partition_sim_run.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;
using absl::Seconds;

}  // namespace

SimOutcome PartitionSim::Run() {
  Choose();
  checker_.emplace(job_);
  Begin();
  const absl::Duration deadline = plan_.until + Seconds(40);
  absl::Duration next_look = loop_.now();
  while (loop_.now() < deadline && !loop_.exhausted() &&
         !exported_.has_value() && checker_->errors().empty()) {
    next_look += Milliseconds(7);
    loop_.RunUntil(next_look);
    CompareReplicas();
  }
  if (checker_->errors().empty()) {
    if (!exported_.has_value()) {
      checker_->Report(absl::StrCat("the job does not end: ", Standing()));
    } else {
      Finish();
    }
  }
  SimOutcome outcome;
  outcome.problems = checker_->errors();
  outcome.hash = loop_.hash();
  outcome.shape = shape_;
  outcome.history = loop_.History(~size_t{0});
  outcome.counts = counts_;
  outcome.counts["runs"] = 1;
  outcome.counts["pulls"] = checker_->pulls();
  outcome.counts["pushes"] = checker_->pushes();
  outcome.counts["looks of sessions"] = checker_->looks();
  outcome.counts["pushes of sessions"] = checker_->session_pushes();
  for (const auto& session : sessions_) {
    outcome.counts["repeats of sessions"] += session->repeats();
  }
  outcome.counts["acknowledged"] = checker_->acknowledged();
  outcome.counts["faults.crashes"] = faults_.counts().crashes;
  outcome.counts["faults.stops"] = faults_.counts().stops;
  outcome.counts["faults.cuts"] = faults_.counts().cuts;
  outcome.counts["faults.isolations"] = faults_.counts().isolations;
  outcome.counts["faults.splits"] = faults_.counts().splits;
  outcome.counts["faults.slow links"] = faults_.counts().slow_links;
  outcome.counts["messages"] = network_.counts().sent;
  outcome.counts["messages.lost"] = network_.counts().lost;
  outcome.counts["messages.cut"] = network_.counts().cut;
  outcome.counts["messages.repeated"] = network_.counts().repeated;
  outcome.counts["messages.late"] = network_.counts().late;
  outcome.counts["epochs"] = highest_epoch_;
  outcome.counts["generations"] = stored_.generation - 1;
  outcome.counts["events"] = loop_.events();
  return outcome;
}

void PartitionSim::Choose() {
  servers_n_ = 2 + loop_.Below(3);
  replicas_ = 1 + loop_.Below(3);
  if (replicas_ > servers_n_) replicas_ = servers_n_;
  job_.seed = loop_.Number();
  const int mode = loop_.Below(3);
  job_.sync.spec.mode = mode == 0   ? SyncMode::kBsp
                        : mode == 1 ? SyncMode::kSsp
                                    : SyncMode::kAsp;
  job_.sync.spec.combine = Combine::kSum;
  if (mode == 1) job_.sync.spec.staleness = loop_.Below(3);
  job_.sync.epoch_barrier = mode == 2 && loop_.Happens(0.3);
  job_.fickle = mode != 0;
  job_.epochs = 1 + loop_.Below(2);
  const uint32_t ranks = 2 + loop_.Below(3);
  for (uint32_t r = 0; r < ranks; ++r) {
    job_.steps.push_back(1 + loop_.Below(r == 0 ? 12 : 8));
  }
  TableSpec table;
  table.name = "w";
  table.kind = loop_.Happens(0.5) ? TableKind::kSparse : TableKind::kDense;
  table.keys = table.kind == TableKind::kDense ? 12 : 0;
  table.partitions = 1;
  table.optimizer.kind = OptimizerKind::kSum;
  table.width = 1;
  job_.tables.push_back(table);
  ChooseSessions();
  job_.tables[0].width = job_.width();

  world_.loop = &loop_;
  world_.network = &network_;
  world_.streams = loop_.Happens(0.7);
  world_.piece_bytes = loop_.Happens(0.5) ? 200 : 100'000;
  world_.min_in_sync = replicas_ > 1 && loop_.Happens(0.2) ? 2 : 1;
  world_.options.table = job_.tables[0];
  world_.options.ranks = ranks;
  world_.options.sync = job_.sync;
  world_.options.steps_per_epoch = 12;
  world_.options.epochs = job_.epochs;
  world_.options.is_ledger = true;

  SimWeatherOnTheWire weather;
  if (loop_.Happens(0.7)) {
    weather.lose = 0.1 * loop_.Below(3) * 0.5;
    weather.duplicate = 0.05 * loop_.Below(3);
    weather.late = 0.05 * loop_.Below(3);
    weather.most_late = Milliseconds(20 + loop_.Below(600));
  }
  network_.SetWeather(weather);
  plan_.until = Seconds(1) + Milliseconds(500 + loop_.Below(3000));
  // Work is spread over the time in which things break.
  think_ =
      (plan_.until - Seconds(1)) * (0.5 + 0.01 * loop_.Below(250)) /
      (*std::max_element(job_.steps.begin(), job_.steps.end()) * job_.epochs +
       job_.epochs);
  plan_.longest = Milliseconds(20 + loop_.Below(1200));
  plan_.crashes = loop_.Below(5);
  plan_.stops = loop_.Below(3);
  plan_.cuts = loop_.Below(5);
  plan_.isolations = loop_.Below(3);
  plan_.splits = loop_.Below(3);
  plan_.slow_links = loop_.Below(6);
  // Shorter than a lease, too: the old primary may be alive and well.
  if (loop_.Happens(0.3)) timeout_ = Milliseconds(120);
  crash_chance_ = loop_.Happens(0.5) ? 0.02 * loop_.Below(3) : 0;
  new_attempts_ = loop_.Below(4);
  moves_ = loop_.Below(3);
  drop_chance_ = loop_.Happens(0.3) ? 0.1 : 0.0;
  LeaveToCutOffs();
  shape_ = absl::StrCat(
      servers_n_, " servers, ", replicas_, " replicas, min_in_sync ",
      world_.min_in_sync, ", ",
      mode == 0   ? "bsp"
      : mode == 1 ? absl::StrCat("ssp ", job_.sync.spec.staleness)
                  : "asp",
      ", ", ranks, " ranks (", absl::StrJoin(job_.steps, " "), " steps), ",
      job_.epochs, " epochs, ", job_.sessions, " sessions, ",
      world_.streams ? "streams" : "datagrams", ", lose ", weather.lose,
      ", repeat ", weather.duplicate, ", late ", weather.late);
}

void PartitionSim::Begin() {
  scheduler_ = loop_.AddMachine("scheduler");
  for (int i = 0; i < servers_n_; ++i) {
    const int machine = loop_.AddMachine(absl::StrCat("s", i + 1));
    servers_[machine];
  }
  for (int i = 0; i < 3; ++i) {
    workers_.push_back(loop_.AddMachine(absl::StrCat("w", i + 1)));
  }
  lives_.resize(job_.ranks());
  stored_.attempts.resize(job_.ranks());
  stored_.machine.resize(job_.ranks(), workers_[0]);
  world_.deliver = [this](int machine, uint64_t generation,
                          PeerMessage message) {
    ReplicaHost* host = servers_.at(machine).host.get();
    if (host != nullptr) host->OnPeerMessage(generation, std::move(message));
  };
  world_.dies = [this](int machine) {
    if (loop_.now() > plan_.until || !loop_.Happens(crash_chance_)) return;
    ++counts_["server dies after forwarding"];
    loop_.After(absl::ZeroDuration(), SimLoop::kWorld, "dies", [this, machine] {
      if (loop_.IsUp(machine)) Crash(machine);
    });
    loop_.After(loop_.Between(Milliseconds(1), Milliseconds(900)),
                SimLoop::kWorld, "back", [this, machine] {
                  if (!loop_.IsUp(machine)) Restart(machine);
                });
  };
  world_.report = [this](std::string problem) {
    checker_->Report(std::move(problem));
  };
  world_.acknowledged = [this](uint64_t generation, uint64_t epoch,
                               uint32_t rank, Clock clock) {
    CheckEnough(absl::StrCat("entry ", ToString(clock), " of rank ", rank),
                generation, epoch);
    CheckHeld("acknowledged", generation, rank, clock);
  };
  world_.session_acknowledged = [this](uint64_t generation, uint64_t epoch,
                                       uint64_t session, uint64_t number) {
    CheckEnough(absl::StrCat("push ", number, " of a session"), generation,
                epoch);
    CheckSessionHeld(generation, session, number);
  };
  world_.answered = [this](uint64_t generation, absl::Span<const float> rows) {
    if (job_.sync.spec.mode == SyncMode::kBsp) return;
    const uint32_t width = job_.width();
    for (uint32_t c = 0; c < job_.columns(); ++c) {
      for (size_t i = c; i < rows.size(); i += width) {
        if (rows[i] == 0) continue;
        const auto [rank, clock] = job_.OfColumn(c);
        CheckHeld("given to a pull", generation, rank, clock);
        break;
      }
    }
  };
  StartScheduler();
  for (auto& [machine, server] : servers_) StartServer(machine);
  std::vector<int> machines = {scheduler_};
  for (auto& [machine, server] : servers_) {
    machines.push_back(machine);
    machines.push_back(machine);  // Twice as likely.
  }
  machines.insert(machines.end(), workers_.begin(), workers_.end());
  BeginSessions(&machines);
  faults_.Plan(plan_, machines);
  loop_.After(plan_.until - loop_.now(), SimLoop::kWorld, "calm",
              [this] { network_.SetWeather({}); });
  for (int i = 0; i < new_attempts_; ++i) {
    loop_.After(loop_.Between(Milliseconds(50), plan_.until - Seconds(1)),
                SimLoop::kWorld, "hand out anew",
                [this] { HandOut(loop_.Below(job_.ranks()), /*anew=*/true); });
  }
  for (int i = 0; i < moves_; ++i) {
    loop_.After(loop_.Between(Milliseconds(50), plan_.until - Seconds(1)),
                SimLoop::kWorld, "move", [this] { MoveOne(); });
  }
}

void PartitionSim::Crash(int machine) {
  loop_.Crash(machine);
  if (machine == scheduler_) {
    registry_.reset();
    group_.reset();
  } else if (auto it = servers_.find(machine); it != servers_.end()) {
    it->second.host.reset();
  } else {
    for (auto& lives : lives_) {
      std::erase_if(lives, [machine](const Life& life) {
        return life.machine == machine;
      });
    }
  }
}

void PartitionSim::Restart(int machine) {
  loop_.Restart(machine);
  if (machine == scheduler_) {
    StartScheduler();
  } else if (servers_.count(machine) > 0) {
    StartServer(machine);
  } else if (const auto it = std::find(session_machines_.begin(),
                                       session_machines_.end(), machine);
             it != session_machines_.end()) {
    sessions_[it - session_machines_.begin()]->Start();
  } else {
    // Its ranks are handed out anew by a scheduler that is up.
    for (uint32_t r = 0; r < job_.ranks(); ++r) {
      if (stored_.machine[r] == machine) HandOut(r, /*anew=*/true);
    }
  }
}

void PartitionSim::StartServer(int machine) {
  Server& server = servers_.at(machine);
  server.node.name = loop_.name(machine);
  server.node.role = NodeRole::kServer;
  server.node.address = server.node.name;
  server.node.host = server.node.name;
  if (server.node.incarnation == 0 ||
      !IsPlanted(PlantedBug::kSameIncarnationAfterRestart)) {
    server.node.incarnation = loop_.Number();
  }
  server.registered = false;
  server.compared = Compared();
  world_.machine_of[server.node.incarnation] = machine;
  server.host = std::make_unique<ReplicaHost>(&world_, machine, server.node);
  loop_.Tell(machine, [&] {
    return absl::StrCat("incarnation ", server.node.incarnation);
  });
  ServerTick(machine);
  Heartbeat(machine);
}

void PartitionSim::ServerTick(int machine) {
  Server& server = servers_.at(machine);
  complaints_[machine] = server.host->Tick();
  loop_.After(world_.lease / 10, machine, "tick",
              [this, machine] { ServerTick(machine); });
}

void PartitionSim::Heartbeat(int machine) {
  loop_.After(kHeartbeat, machine, "heartbeat",
              [this, machine] { Heartbeat(machine); });
  Server& server = servers_.at(machine);
  const Node node = server.node;
  if (!server.registered) {
    std::optional<HeldPartition> held;
    if (const Partition* partition = server.host->partition();
        partition != nullptr && partition->holds()) {
      held = HeldPartition{server.host->generation(), partition->epoch()};
    }
    network_.Call<int>(
        machine, scheduler_, "register", kCallTimeout,
        [this, node, held](auto answer) {
          OnRegister(node, held);
          answer(1);
        },
        [&server](absl::StatusOr<int> reply) {
          if (reply.ok()) server.registered = true;
        });
    return;
  }
  network_.Call<bool>(
      machine, scheduler_, "heartbeat", kCallTimeout,
      [this, node, silent = complaints_[machine]](auto answer) {
        answer(OnHeartbeat(node, silent));
      },
      [&server](absl::StatusOr<bool> reply) {
        if (reply.ok() && !*reply) server.registered = false;
      });
}

SimOutcome RunPartitionSim(uint64_t seed, bool record) {
  return PartitionSim(seed, record).Run();
}

}  // namespace seraph::testing
