#include "tests/sim/partition_sim.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/table/partitioning.h"
#include "scheduler/membership/node_registry.h"
#include "scheduler/replicas/partition_group.h"
#include "server/core/partition_snapshot.h"
#include "tests/sim/replica_host.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_rank.h"
#include "tests/sim/witness.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;
using absl::Seconds;

constexpr absl::Duration kHeartbeat = Milliseconds(50);
constexpr absl::Duration kTimeout = Milliseconds(300);
constexpr absl::Duration kCallTimeout = Milliseconds(250);

class PartitionSim {
 public:
  PartitionSim(uint64_t seed, bool record)
      : loop_(seed, record),
        network_(&loop_),
        faults_(&loop_, &network_,
                {.crash = [this](int m) { Crash(m); },
                 .restart = [this](int m) { Restart(m); }}) {}

  SimOutcome Run() {
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
    outcome.counts["acknowledged"] = checker_->acknowledged();
    outcome.counts["faults.crashes"] = faults_.counts().crashes;
    outcome.counts["faults.stops"] = faults_.counts().stops;
    outcome.counts["faults.cuts"] = faults_.counts().cuts;
    outcome.counts["faults.isolations"] = faults_.counts().isolations;
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

 private:
  // What the scheduler's store holds.
  struct Stored {
    uint64_t generation = 1;
    std::optional<GroupRecord> group;
    std::vector<KnownNode> known;
    std::vector<uint32_t> attempts;  // By rank; 0: not handed out.
    std::vector<int> machine;        // By rank.
    std::set<uint32_t> done;
  };
  struct Server {
    Node node;
    std::unique_ptr<ReplicaHost> host;
    bool registered = false;
  };
  struct Life {
    int machine = 0;
    uint32_t attempt = 0;
    uint64_t generation = 0;
    std::unique_ptr<SimRank> rank;
  };

  // What the seed decides
  // ------------------------------------------------------

  void Choose() {
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
    plan_.slow_links = loop_.Below(6);
    crash_chance_ = loop_.Happens(0.5) ? 0.02 * loop_.Below(3) : 0;
    new_attempts_ = loop_.Below(4);
    moves_ = loop_.Below(3);
    drop_chance_ = loop_.Happens(0.3) ? 0.1 : 0.0;
    shape_ = absl::StrCat(
        servers_n_, " servers, ", replicas_, " replicas, min_in_sync ",
        world_.min_in_sync, ", ",
        mode == 0   ? "bsp"
        : mode == 1 ? absl::StrCat("ssp ", job_.sync.spec.staleness)
                    : "asp",
        ", ", ranks, " ranks (", absl::StrJoin(job_.steps, " "), " steps), ",
        job_.epochs, " epochs, ", world_.streams ? "streams" : "datagrams",
        ", lose ", weather.lose, ", repeat ", weather.duplicate, ", late ",
        weather.late);
  }

  void Begin() {
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
      loop_.After(absl::ZeroDuration(), SimLoop::kWorld, "dies",
                  [this, machine] {
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
    world_.acknowledged = [this](uint64_t generation, uint32_t rank,
                                 Clock clock) {
      CheckHeld("acknowledged", generation, rank, clock);
    };
    world_.answered = [this](uint64_t generation,
                             const std::vector<float>& rows) {
      if (job_.sync.spec.mode == SyncMode::kBsp) return;
      const uint32_t width = job_.width();
      for (uint32_t c = 0; c < width; ++c) {
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
    faults_.Plan(plan_, machines);
    loop_.After(plan_.until - loop_.now(), SimLoop::kWorld, "calm",
                [this] { network_.SetWeather({}); });
    for (int i = 0; i < new_attempts_; ++i) {
      loop_.After(loop_.Between(Milliseconds(50), plan_.until - Seconds(1)),
                  SimLoop::kWorld, "hand out anew", [this] {
                    HandOut(loop_.Below(job_.ranks()), /*anew=*/true);
                  });
    }
    for (int i = 0; i < moves_; ++i) {
      loop_.After(loop_.Between(Milliseconds(50), plan_.until - Seconds(1)),
                  SimLoop::kWorld, "move", [this] { MoveOne(); });
    }
  }

  void Crash(int machine) {
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

  void Restart(int machine) {
    loop_.Restart(machine);
    if (machine == scheduler_) {
      StartScheduler();
    } else if (servers_.count(machine) > 0) {
      StartServer(machine);
    } else {
      // Its ranks are handed out anew by a scheduler that is up.
      for (uint32_t r = 0; r < job_.ranks(); ++r) {
        if (stored_.machine[r] == machine) HandOut(r, /*anew=*/true);
      }
    }
  }

  // Servers
  // ---------------------------------------------------------------------

  void StartServer(int machine) {
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
    world_.machine_of[server.node.incarnation] = machine;
    server.host = std::make_unique<ReplicaHost>(&world_, machine, server.node);
    loop_.Tell(machine, [&] {
      return absl::StrCat("incarnation ", server.node.incarnation);
    });
    ServerTick(machine);
    Heartbeat(machine);
  }

  void ServerTick(int machine) {
    Server& server = servers_.at(machine);
    complaints_[machine] = server.host->Tick();
    loop_.After(world_.lease / 10, machine, "tick",
                [this, machine] { ServerTick(machine); });
  }

  void Heartbeat(int machine) {
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

  // The scheduler
  // ---------------------------------------------------------------

  struct HeldPartition {
    uint64_t generation = 0;
    uint64_t epoch = 0;
  };

  absl::Duration SchedulerNow() const {
    return loop_.ClockOf(scheduler_)->Now();
  }

  void StartScheduler() {
    scheduler_started_ = loop_.now();
    exporting_ = false;
    if (stored_.group.has_value()) expected_ = stored_.group->members.size();
    registry_.emplace(kTimeout, SchedulerNow(), stored_.known);
    known_version_ = registry_->known_version();
    assigned_.clear();
    steps_ = GroupSteps();
    if (stored_.group.has_value()) {
      group_.emplace(0, 0, *stored_.group);
      if (stored_.group->epoch == 1) {
        // Whether a server took its part is not known; Resume follows.
        AssignAll();
      } else {
        group_->Resume(&steps_);
        for (uint32_t r = 0; r < job_.ranks(); ++r) HandOut(r, false);
      }
    }
    SchedulerTick();
  }

  void SchedulerTick() {
    loop_.After(kTimeout / 10, scheduler_, "tick", [this] { SchedulerTick(); });
    const absl::Duration now = SchedulerNow();
    for (const LostNode& lost : registry_->Tick(now)) {
      if (loop_.now() < scheduler_started_ + kTimeout) {
        checker_->Report(
            absl::StrCat("a scheduler that has just started calls ",
                         lost.node.name, " dead"));
      }
      Lose(lost.node);
    }
    if (group_.has_value()) Plan();
    Export();
    for (uint32_t r = 0; r < job_.ranks(); ++r) {
      if (loop_.now() > handed_out_[r] + Seconds(1)) HandOut(r, false);
    }
    Work();
  }

  void Lose(const Node& node) {
    loop_.Tell(scheduler_, [&] {
      return absl::StrCat("calls ", node.name, " dead (", node.incarnation,
                          ")");
    });
    ++counts_["called dead"];
    if (!group_.has_value()) return;
    expected_ -= group_->IsMember(node.incarnation);
    group_->LoseNodes({node.incarnation}, &steps_);
  }

  void OnRegister(const Node& node, std::optional<HeldPartition> held) {
    for (const LostNode& lost : registry_->Register(node, SchedulerNow())) {
      Lose(lost.node);
    }
    if (group_.has_value() && held.has_value() &&
        held->generation == stored_.generation) {
      if (held->epoch > stored_.group->epoch) {
        checker_->Report("a server has seen a higher epoch than is stored");
      }
      group_->FindHeld(node, &steps_);
    }
    Work();
  }

  bool OnHeartbeat(const Node& node, const std::vector<uint64_t>& silent) {
    const absl::Duration now = SchedulerNow();
    if (!registry_->Heartbeat(node.name, node.incarnation, {}, now).ok()) {
      return false;
    }
    if (group_.has_value() && group_->primary() != nullptr &&
        group_->primary()->incarnation == node.incarnation) {
      for (uint64_t other : silent) {
        if (!group_->IsMember(other) && !group_->IsRecruit(other)) continue;
        ++counts_["complaints"];
        // Whose fault it is, nobody knows.
        const uint64_t gone = loop_.Happens(0.7) ? other : node.incarnation;
        expected_ -= group_->IsMember(gone);
        group_->LeaveOut({gone}, &steps_);
        break;
      }
    }
    Work();
    return true;
  }

  // As many replicas as wanted, and none on a server that drains.
  void Plan() {
    if (!AllAssigned() || !group_->settled() ||
        group_->record().recruit.has_value() || group_->handing_over()) {
      return;
    }
    const std::vector<Node>& members = group_->record().members;
    const Node* leaving = nullptr;
    for (const Node& member : members) {
      if (member.name == draining_) leaving = &member;
    }
    if (static_cast<int>(members.size()) > replicas_) {
      const Node& gone = leaving != nullptr ? *leaving : members.back();
      if (gone.incarnation != group_->primary()->incarnation) {
        --expected_;
        group_->LeaveOut({gone.incarnation}, &steps_);
      } else {
        for (const Node& member : members) {
          if (member.incarnation == gone.incarnation) continue;
          group_->HandOverTo(member.incarnation, &steps_);
          break;
        }
      }
      return;
    }
    if (static_cast<int>(members.size()) == replicas_ && leaving == nullptr) {
      return;
    }
    for (const Node& node : registry_->Alive(NodeRole::kServer)) {
      if (node.name == draining_ || group_->IsMember(node.incarnation)) {
        continue;
      }
      group_->Recruit(node, &steps_);
      return;
    }
  }

  // Commits, then lets the orders leave; may die in between.
  void Work() {
    if (!loop_.IsUp(scheduler_)) return;
    if (registry_->known_version() != known_version_) {
      known_version_ = registry_->known_version();
      stored_.known = registry_->Known();
    }
    if (!group_.has_value()) {
      const auto alive = registry_->Alive(NodeRole::kServer);
      if (stored_.generation == 1
              ? alive.size() < static_cast<size_t>(replicas_)
              : alive.empty()) {
        return;
      }
      Place(alive);
      if (!Dies()) AssignAll();
      return;
    }
    GroupSteps steps = std::exchange(steps_, GroupSteps());
    if (steps.lost) {
      if (whole_ && expected_ > 0) {
        checker_->Report(absl::StrCat("the job goes back although ", expected_,
                                      " members should have been left"));
      }
      GoBack();
      if (!Dies()) AssignAll();
      return;
    }
    if (steps.record_changed) {
      stored_.group = group_->record();
      const GroupRecord& group = *stored_.group;
      const int members = group.members.size();
      if (whole_ && members < expected_) {
        checker_->Report(absl::StrCat("epoch ", group.epoch, " has ", members,
                                      " members of ", expected_,
                                      " that were not lost"));
      }
      expected_ = members;
      highest_epoch_ = std::max(highest_epoch_, group.epoch);
      loop_.Tell(scheduler_, [&] {
        std::string text =
            absl::StrCat("stores epoch ", group.epoch, ": members");
        for (const Node& node : group.members) {
          absl::StrAppend(&text, " ", node.name,
                          node.incarnation == group.primary ? "*" : "");
        }
        if (group.recruit.has_value()) {
          absl::StrAppend(&text, " recruit ", group.recruit->name);
        }
        return text;
      });
      if (Dies()) return;
    }
    for (const DutyOrder& duty : steps.duties) {
      Configure(duty.to, duty.order, stored_.generation, 0);
    }
    if (steps.recruit.has_value()) {
      RecruitOne(*steps.recruit, stored_.generation, 0);
    }
    if (steps.hand_over.has_value()) {
      HandOverOne(*steps.hand_over, stored_.generation);
    }
    if (steps.placement_changed) TellRanks();
  }

  // Between the commit and the orders.
  bool Dies() {
    if (loop_.now() > plan_.until || !loop_.Happens(drop_chance_)) return false;
    ++counts_["scheduler dies after commit"];
    loop_.After(absl::ZeroDuration(), SimLoop::kWorld, "dies", [this] {
      Crash(scheduler_);
      loop_.After(loop_.Between(Milliseconds(1), Milliseconds(400)),
                  SimLoop::kWorld, "back", [this] {
                    if (!loop_.IsUp(scheduler_)) Restart(scheduler_);
                  });
    });
    return true;
  }

  void Place(const std::vector<Node>& alive) {
    const size_t first = loop_.Below(alive.size());
    const size_t n = std::min<size_t>(replicas_, alive.size());
    std::vector<Node> members;
    for (size_t i = 0; i < n; ++i) {
      members.push_back(alive[(first + i) % alive.size()]);
    }
    group_.emplace(0, 0, members);
    stored_.group = group_->record();
    expected_ = members.size();
    whole_ = false;
    assigned_.clear();
    steps_ = GroupSteps();
    loop_.Tell(scheduler_, [&] {
      return absl::StrCat("places generation ", stored_.generation, " on ",
                          members[0].name, " and ", n - 1, " more");
    });
  }

  void GoBack() {
    ++stored_.generation;
    loop_.Tell(scheduler_, [&] {
      return absl::StrCat("### goes back: generation ", stored_.generation);
    });
    checker_->WentBack(stored_.generation, {});
    stored_.group.reset();
    stored_.done.clear();
    for (uint32_t r = 0; r < job_.ranks(); ++r)
      stored_.machine[r] = workers_[0];
    group_.reset();
    assigned_.clear();
    // Placed by one of the next calls, when servers are there.
    const auto alive = registry_->Alive(NodeRole::kServer);
    if (!alive.empty()) Place(alive);
  }

  // Orders the members of epoch 1 to create their replicas.
  void AssignAll() {
    if (!stored_.group.has_value() || stored_.group->epoch > 1) return;
    const GroupRecord& group = *stored_.group;
    for (const Node& member : group.members) {
      ReplicaOrder order{.epoch = 1,
                         .duty = member.incarnation == group.primary
                                     ? ReplicaDuty::kLead
                                     : ReplicaDuty::kFollow,
                         .members = group.members};
      for (const Node& node : group.members) {
        if (node.incarnation == group.primary) order.primary = node;
      }
      SendAssign(member, order, stored_.generation);
    }
  }

  void SendAssign(const Node& to, const ReplicaOrder& order,
                  uint64_t generation) {
    network_.Call<Placed>(
        scheduler_, MachineOf(to), "assign", kCallTimeout,
        [this, to, order, generation](auto answer) {
          ReplicaHost* host = HostOn(MachineOf(to));
          if (host == nullptr) return;
          answer(host->Assign(generation, to.incarnation, order));
        },
        [this, to, order, generation](absl::StatusOr<Placed> placed) {
          if (stored_.generation != generation || !group_.has_value()) return;
          if (!placed.ok()) {
            if (stored_.group->epoch != 1) return;
            loop_.After(Milliseconds(20), scheduler_, "again",
                        [this, to, order, generation] {
                          if (stored_.generation == generation) {
                            SendAssign(to, order, generation);
                          }
                        });
            return;
          }
          if (placed->generation != generation ||
              placed->incarnation != to.incarnation) {
            return;
          }
          if (!assigned_.insert(to.incarnation).second) return;
          if (stored_.group->epoch != 1 || !AllAssigned()) return;
          whole_ = true;
          group_->Resume(&steps_);
          for (uint32_t r = 0; r < job_.ranks(); ++r) HandOut(r, false);
          Work();
        });
  }

  bool AllAssigned() const {
    if (!stored_.group.has_value()) return false;
    const GroupRecord& group = *stored_.group;
    if (group.epoch > 1) return true;
    return std::all_of(group.members.begin(), group.members.end(),
                       [this](const Node& node) {
                         return assigned_.count(node.incarnation) > 0;
                       });
  }

  void Configure(const Node& to, const ReplicaOrder& one, uint64_t generation,
                 int tries) {
    loop_.Tell(scheduler_, [&] {
      static constexpr const char* kDuties[] = {"collect", "lead", "follow",
                                                "join", "drop"};
      return absl::StrCat("orders ", to.name, " to ",
                          kDuties[static_cast<int>(one.duty)], ", epoch ",
                          one.epoch);
    });
    network_.Call<Configured>(
        scheduler_, MachineOf(to), "configure", kCallTimeout,
        [this, to, one, generation](auto answer) {
          ReplicaHost* host = HostOn(MachineOf(to));
          if (host == nullptr) return;
          answer(host->Configure(generation, to.incarnation, one));
        },
        [this, to, one, generation,
         tries](absl::StatusOr<Configured> configured) {
          if (stored_.generation != generation || !group_.has_value()) return;
          if (configured.ok()) {
            if (configured->incarnation != to.incarnation ||
                configured->generation != generation) {
              return;
            }
            group_->TakeState(to.incarnation, configured->replicas[0], &steps_);
            for (uint32_t r = 0; r < job_.ranks(); ++r) HandOut(r, false);
            return Work();
          }
          // Until a later epoch makes it void, or the server is dead.
          const bool is_drop = one.duty == ReplicaDuty::kDrop;
          if ((!is_drop && stored_.group->epoch != one.epoch) ||
              (is_drop && tries > 20) ||
              !registry_->IsAlive(to.name, to.incarnation)) {
            return;
          }
          loop_.After(Milliseconds(20), scheduler_, "again",
                      [this, to, one, generation, tries] {
                        if (stored_.generation == generation) {
                          Configure(to, one, generation, tries + 1);
                        }
                      });
        });
  }

  void RecruitOne(const GroupSteps::ToPrimary& step, uint64_t generation,
                  int tries) {
    const Node to = step.primary;
    const RecruitReplica order{.epoch = step.epoch, .recruit = step.recruit};
    loop_.Tell(scheduler_, [&] {
      return absl::StrCat("orders ", to.name, " to recruit ", step.recruit.name,
                          ", epoch ", step.epoch);
    });
    network_.Call<Recruited>(
        scheduler_, MachineOf(to), "recruit", 3 * kCallTimeout,
        [this, to, order, generation](auto answer) {
          ReplicaHost* host = HostOn(MachineOf(to));
          if (host == nullptr) return;
          host->Recruit(generation, to.incarnation, order, answer);
        },
        [this, step, generation, tries](absl::StatusOr<Recruited> reply) {
          if (stored_.generation != generation || !group_.has_value()) return;
          if (reply.ok()) {
            ++counts_["recruited"];
            group_->TakeRecruited(reply->epoch, reply->recruit, &steps_);
            return Work();
          }
          const bool slow = absl::IsUnavailable(reply.status()) ||
                            absl::IsDeadlineExceeded(reply.status());
          if (!slow || tries > 10) {
            group_->FailRecruit(step.epoch, &steps_);
            return Work();
          }
          loop_.After(Milliseconds(20), scheduler_, "again",
                      [this, step, generation, tries] {
                        if (stored_.generation == generation &&
                            stored_.group->epoch == step.epoch) {
                          RecruitOne(step, generation, tries + 1);
                        }
                      });
        });
  }

  void HandOverOne(const GroupSteps::ToPrimary& step, uint64_t generation) {
    const Node to = step.primary;
    network_.Call<HandedOver>(
        scheduler_, MachineOf(to), "hand over", kCallTimeout,
        [this, to, step, generation](auto answer) {
          ReplicaHost* host = HostOn(MachineOf(to));
          if (host == nullptr) return;
          host->HandOver(generation, to.incarnation, step.epoch, answer);
        },
        [this, step, generation](absl::StatusOr<HandedOver> reply) {
          if (stored_.generation != generation || !group_.has_value()) return;
          if (reply.ok()) {
            ++counts_["handed over"];
            group_->TakeHandedOver(step.epoch, &steps_);
          } else {
            group_->FailHandOver(step.epoch);
          }
          Work();
        });
  }

  // A server is to hold nothing for a while.
  void MoveOne() {
    const auto it = std::next(servers_.begin(), loop_.Below(servers_.size()));
    draining_ = loop_.name(it->first);
    loop_.Tell(SimLoop::kWorld,
               [&] { return absl::StrCat("### ", draining_, " drains"); });
    loop_.After(loop_.Between(Milliseconds(100), Milliseconds(900)),
                SimLoop::kWorld, "drained", [this] { draining_.clear(); });
  }

  // Ranks
  // -------------------------------------------------------------------------

  PartitionPlacement Placement() const {
    PartitionPlacement placement;
    if (!stored_.group.has_value()) return placement;
    placement.epoch = stored_.group->epoch;
    for (const Node& node : stored_.group->members) {
      if (node.incarnation == stored_.group->primary) placement.primary = node;
    }
    return placement;
  }

  // Hands the rank out, if it is not; `anew`: also if it is.
  void HandOut(uint32_t rank, bool anew) {
    if (!loop_.IsUp(scheduler_) || loop_.IsStopped(scheduler_)) return;
    if (!AllAssigned() || stored_.done.count(rank) > 0) return;
    if (!anew && stored_.attempts[rank] > 0 &&
        loop_.now() < handed_out_[rank] + Milliseconds(300) &&
        generation_of_[rank] == stored_.generation)
      return;
    Life* newest = nullptr;
    for (Life& life : lives_[rank]) {
      if (life.attempt == stored_.attempts[rank] &&
          life.generation == stored_.generation) {
        newest = &life;
      }
    }
    if (newest != nullptr && !anew) return;
    if (newest != nullptr) ++counts_["handed out beside a living one"];
    const int machine = workers_[loop_.Below(workers_.size())];
    const uint32_t attempt = ++stored_.attempts[rank];
    handed_out_[rank] = loop_.now();
    generation_of_[rank] = stored_.generation;
    stored_.machine[rank] = machine;
    const uint64_t generation = stored_.generation;
    ++counts_["attempts"];
    SendRun(rank, attempt, generation, machine);
  }

  void SendRun(uint32_t rank, uint32_t attempt, uint64_t generation,
               int machine) {
    network_.Call<int>(
        scheduler_, machine, "run rank", kCallTimeout,
        [this, rank, attempt, generation, machine,
         placement = Placement()](auto answer) {
          Run(rank, attempt, generation, machine, placement);
          answer(1);
        },
        [this, rank, attempt, generation, machine](absl::StatusOr<int> reply) {
          if (reply.ok() || stored_.attempts[rank] != attempt ||
              stored_.generation != generation) {
            return;
          }
          loop_.After(Milliseconds(20), scheduler_, "again",
                      [this, rank, attempt, generation, machine] {
                        if (stored_.attempts[rank] == attempt &&
                            stored_.generation == generation) {
                          SendRun(rank, attempt, generation, machine);
                        }
                      });
        });
  }

  void Run(uint32_t rank, uint32_t attempt, uint64_t generation, int machine,
           const PartitionPlacement& placement) {
    for (const Life& life : lives_[rank]) {
      if (life.attempt == attempt && life.generation == generation) return;
    }
    SimRankPeers peers;
    peers.push = [this, machine](const Node& server, uint64_t generation,
                                 PushMessage message, auto done) {
      loop_.After(loop_.Between(absl::ZeroDuration(), think_), machine, "push",
                  [this, machine, server, generation, message, done] {
                    CallServer<Answer>(
                        machine, server, "push",
                        [generation, message](ReplicaHost* host, auto answer) {
                          host->Push(generation, message, answer);
                        },
                        done);
                  });
    };
    peers.pull = [this, machine](const Node& server, uint64_t generation,
                                 PullMessage message, auto done) {
      CallServer<Answer>(
          machine, server, "pull",
          [generation, message](ReplicaHost* host, auto answer) {
            host->Pull(generation, message, answer);
          },
          done);
    };
    peers.begin_attempt = [this, machine](const Node& server,
                                          uint64_t generation, RankName name,
                                          auto done) {
      CallServer<Done>(
          machine, server, "begin attempt",
          [generation, name](ReplicaHost* host, auto answer) {
            host->BeginAttempt(generation, name, answer);
          },
          done);
    };
    peers.placement = [this, machine, generation](auto done) {
      network_.Call<PartitionPlacement>(
          machine, scheduler_, "placement", kCallTimeout,
          [this, generation](auto answer) {
            if (generation != stored_.generation) {
              return answer(absl::NotFoundError("another generation"));
            }
            answer(Placement());
          },
          done);
    };
    peers.done = [this, rank, machine, generation] {
      ReportDone(rank, machine, generation);
    };
    Life life{machine, attempt, generation, nullptr};
    life.rank = std::make_unique<SimRank>(
        &loop_, machine, &job_, &*checker_,
        WitnessChecker::Who{generation, rank, attempt}, placement,
        std::move(peers));
    SimRank* started = life.rank.get();
    lives_[rank].push_back(std::move(life));
    started->Start();
  }

  void ReportDone(uint32_t rank, int machine, uint64_t generation) {
    network_.Call<int>(
        machine, scheduler_, "rank done", kCallTimeout,
        [this, rank, generation](auto answer) {
          if (generation == stored_.generation) stored_.done.insert(rank);
          answer(1);
        },
        [this, rank, machine, generation](absl::StatusOr<int> reply) {
          if (reply.ok()) return;
          loop_.After(Milliseconds(20), machine, "again",
                      [this, rank, machine, generation] {
                        ReportDone(rank, machine, generation);
                      });
        });
  }

  void TellRanks() {
    const PartitionPlacement placement = Placement();
    const uint64_t generation = stored_.generation;
    for (int machine : workers_) {
      network_.Send(
          scheduler_, machine, "placements",
          [this, machine, generation, placement] {
            for (auto& lives : lives_) {
              for (Life& life : lives) {
                if (life.machine == machine && life.generation == generation) {
                  life.rank->Update(placement);
                }
              }
            }
          });
    }
  }

  template <typename Reply, typename Serve>
  void CallServer(int machine, const Node& server, const char* what,
                  Serve serve, SimNetwork::Answer<Reply> done) {
    const int to = MachineOf(server);
    network_.Call<Reply>(
        machine, to, what, world_.lease,
        [this, to, serve](SimNetwork::Answer<Reply> answer) {
          ReplicaHost* host = HostOn(to);
          if (host != nullptr) serve(host, answer);
        },
        std::move(done));
  }

  int MachineOf(const Node& node) const {
    return world_.machine_of.at(node.incarnation);
  }
  ReplicaHost* HostOn(int machine) { return servers_.at(machine).host.get(); }

  // Checks
  // --------------------------------------------------------------------------

  bool AllDone() const { return stored_.done.size() == job_.ranks(); }

  std::string Standing() {
    std::string text =
        absl::StrCat("generation ", stored_.generation, ", ranks done ",
                     absl::StrJoin(stored_.done, " "), "; epoch ",
                     stored_.group.has_value() ? stored_.group->epoch : 0);
    for (auto& [machine, server] : servers_) {
      const Partition* partition = server.host->partition();
      if (partition == nullptr) continue;
      const ReplicaState state = partition->State();
      absl::StrAppend(&text, "; ", server.node.name, " duty ",
                      static_cast<int>(state.duty), " epoch ", state.epoch,
                      " at ", state.last.epoch, ":", state.last.number,
                      state.divergent ? " divergent" : "", " parked ",
                      partition->parked());
    }
    return text;
  }

  // What somebody is told of is with everybody who may be promoted by the
  // record.
  void CheckHeld(const char* how, uint64_t generation, uint32_t rank,
                 Clock clock) {
    if (generation != stored_.generation || !stored_.group.has_value()) return;
    for (const Node& member : stored_.group->members) {
      const ReplicaHost* host = HostOn(MachineOf(member));
      if (host == nullptr || host->node().incarnation != member.incarnation ||
          host->generation() != generation || !host->partition()->holds()) {
        continue;
      }
      if (host->partition()->state().rank(rank).next > clock) continue;
      checker_->Report(
          absl::StrCat("entry ", ToString(clock), " of rank ", rank, " is ",
                       how, ", and is not in the log of ", member.name,
                       ", a member of epoch ", stored_.group->epoch));
    }
  }

  // Replicas at one position hold the same bytes, whenever they were there, and
  // whoever is in sync by the record holds something.
  void CompareReplicas() {
    if (whole_ && stored_.group.has_value()) {
      for (const Node& member : stored_.group->members) {
        const Server& server = servers_.at(MachineOf(member));
        if (server.host == nullptr || !loop_.IsUp(MachineOf(member)) ||
            server.host->node().incarnation != member.incarnation ||
            server.host->generation() != stored_.generation) {
          continue;
        }
        if (!server.host->partition()->holds()) {
          checker_->Report(
              absl::StrCat(member.name, " is in sync and holds nothing"));
        } else if (server.host->partition()->State().divergent) {
          checker_->Report(
              absl::StrCat(member.name, " is in sync and divergent"));
        }
      }
    }
    for (auto& [machine, server] : servers_) {
      if (server.host == nullptr) continue;
      const Partition* partition = server.host->partition();
      if (partition == nullptr || !partition->holds()) continue;
      const LogPosition last = partition->State().last;
      const Snapshot snapshot = EncodeSnapshot(partition->state());
      const uint64_t content = std::hash<std::string>()(snapshot.bytes);
      const auto [it, is_new] = content_.emplace(
          std::tuple(server.host->generation(), last.epoch, last.number),
          content);
      if (!is_new) ++counts_["replicas compared"];
      if (it->second != content) {
        checker_->Report(absl::StrCat(server.node.name, " at ", last.epoch, ":",
                                      last.number,
                                      " holds other bytes than another did"));
      }
    }
  }

  // The primary's rows, once every rank has reported that it is done. Until
  // they are here the job may still go back.
  void Export() {
    if (exporting_ || exported_.has_value() || !AllDone()) return;
    const PartitionPlacement placement = Placement();
    if (placement.primary.name.empty()) return;
    exporting_ = true;
    const uint64_t generation = stored_.generation;
    const int to = MachineOf(placement.primary);
    using Rows = std::map<Key, std::vector<float>>;
    network_.Call<Rows>(
        scheduler_, to, "export", kCallTimeout,
        [this, to, generation](auto answer) {
          ReplicaHost* host = HostOn(to);
          if (host == nullptr) return;
          const Partition* partition = host->partition();
          if (partition == nullptr || host->generation() != generation ||
              !partition->leads()) {
            return answer(absl::NotFoundError("not led here"));
          }
          answer(RowsOf(*partition));
        },
        [this, generation](absl::StatusOr<Rows> rows) {
          exporting_ = false;
          if (rows.ok() && generation == stored_.generation) {
            exported_ = *std::move(rows);
          }
        });
  }

  std::map<Key, std::vector<float>> RowsOf(const Partition& partition) const {
    const PartitionState& state = partition.state();
    const auto cursor = state.store().Cursor();
    std::map<Key, std::vector<float>> rows;
    const size_t width = job_.width();
    while (true) {
      std::vector<Key> keys;
      std::vector<float> values;
      cursor->Next(100, state.sums(), &keys, &values);
      if (keys.empty()) return rows;
      for (size_t i = 0; i < keys.size(); ++i) {
        rows[keys[i]].assign(values.begin() + i * width,
                             values.begin() + (i + 1) * width);
      }
    }
  }

  void Finish() {
    checker_->Final(stored_.generation, 0, job_.epochs, *exported_);
    // What is under way comes to rest; then all replicas have it all.
    const uint64_t generation = stored_.generation;
    const absl::Duration end = std::max(loop_.now(), plan_.until) + Seconds(2);
    while (loop_.now() < end) {
      loop_.RunUntil(loop_.now() + Milliseconds(20));
      CompareReplicas();
    }
    if (stored_.generation != generation) return;  // Nobody runs it again.
    const PartitionPlacement placement = Placement();
    if (placement.primary.name.empty()) {
      return checker_->Report("no primary at the end");
    }
    for (const Node& node : stored_.group->members) {
      ReplicaHost* host = HostOn(MachineOf(node));
      if (host == nullptr || host->partition() == nullptr ||
          !host->partition()->holds()) {
        checker_->Report(
            absl::StrCat("a member holds nothing at the end: ", Standing()));
        continue;
      }
      checker_->Final(stored_.generation, 0, job_.epochs,
                      RowsOf(*host->partition()));
      if (host->partition()->differing_repeats() > 0) {
        checker_->Report("a repeat in bsp had other bytes");
      }
    }
    if (static_cast<int>(stored_.group->members.size()) < replicas_) {
      checker_->Report(
          absl::StrCat("replicas are missing at the end: ", Standing()));
    }
  }

  SimLoop loop_;
  SimNetwork network_;
  SimFaults faults_;
  SimFaultPlan plan_;
  WitnessJob job_;
  std::optional<WitnessChecker> checker_;
  ReplicaWorld world_;
  std::string shape_;
  std::map<std::string, int64_t> counts_;
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, uint64_t> content_;

  int servers_n_ = 3;
  int replicas_ = 2;
  int new_attempts_ = 0;
  int moves_ = 0;
  std::string draining_;
  double drop_chance_ = 0;
  double crash_chance_ = 0;
  absl::Duration think_;

  int scheduler_ = 0;
  std::map<int, Server> servers_;
  std::map<int, std::vector<uint64_t>> complaints_;
  std::vector<int> workers_;
  std::vector<std::vector<Life>> lives_;  // By rank.

  Stored stored_;
  bool exporting_ = false;
  std::optional<std::map<Key, std::vector<float>>> exported_;
  // Members that there must be: those that came in, without those whose loss
  // was decided for a reason.
  int expected_ = 0;
  bool whole_ = false;  // All of the first ones were created.
  absl::Duration scheduler_started_;
  uint64_t highest_epoch_ = 0;
  std::optional<NodeRegistry> registry_;
  std::optional<PartitionGroup> group_;
  GroupSteps steps_;  // Not done yet.
  uint64_t known_version_ = 0;
  std::set<uint64_t> assigned_;
  std::map<uint32_t, absl::Duration> handed_out_;  // By rank.
  std::map<uint32_t, uint64_t> generation_of_;     // Then.
};

}  // namespace

SimOutcome RunPartitionSim(uint64_t seed, bool record) {
  return PartitionSim(seed, record).Run();
}

}  // namespace seraph::testing
