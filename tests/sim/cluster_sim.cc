#include "tests/sim/cluster_sim.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/version/version.h"
#include "tests/sim/cluster_job.h"
#include "tests/sim/cluster_look.h"
#include "tests/sim/cluster_operators.h"
#include "tests/sim/cluster_world.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_scheduler.h"
#include "tests/sim/sim_server.h"
#include "tests/sim/sim_worker.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;
using absl::Seconds;

// What an undisturbed run of a job gives, or any run of a bsp job should.
struct JobResult {
  std::vector<std::map<Key, std::vector<float>>> tables;
  std::vector<EpochView> epochs;
};

class ClusterSim {
 public:
  // `calm`: nothing goes wrong; the job is `given`.
  ClusterSim(uint64_t seed, bool record, const ClusterJob* given = nullptr)
      : calm_(given != nullptr),
        loop_(seed, record),
        network_(&loop_),
        faults_(&loop_, &network_,
                {.crash = [this](int m) { Crash(m); },
                 .restart = [this](int m) { Start(m); }}) {
    if (given != nullptr) job_ = *given;
  }

  SimOutcome Run() {
    Choose();
    Begin();
    const absl::Duration deadline = plan_.until + Seconds(60);
    absl::Duration next_look = loop_.now();
    while (loop_.now() < deadline && !loop_.exhausted() && !Freed() &&
           checker_->errors().empty()) {
      next_look += Milliseconds(20);
      loop_.RunUntil(next_look);
      replicas_.Look();
    }
    if (checker_->errors().empty()) Finish();
    SimOutcome outcome = Tell();
    Close();
    return outcome;
  }

  std::optional<JobResult> Result() const { return result_; }

 private:
  struct NodeLife {
    Node node;
    bool registered = false;
    uint64_t term = 0;  // Of the scheduler with which it is registered.
    int registrations = 0;
    std::unique_ptr<SimServer> server;
    std::unique_ptr<SimWorker> worker;
  };

  void Choose() {
    if (!calm_) job_ = ChooseJob(&loop_);
    world_.loop = &loop_;
    world_.network = &network_;
    world_.job = &job_;
    world_.disk = &disk_;
    checker_.emplace(job_.witness);
    checks_.emplace(&job_, &*checker_);
    world_.checker = &*checker_;
    world_.checks = &*checks_;
    if (calm_) {
      servers_n_ = 1;
      workers_n_ = 1;
      world_.think = Milliseconds(1);
      job_.spec.tables.replicas = 1;
      job_.spec.tables.min_in_sync = 1;
      job_.spec.checkpoint.reset();
      return;
    }
    const int replicas = job_.spec.tables.replicas;
    servers_n_ = std::max<int>(replicas, 2 + loop_.Below(3));
    workers_n_ = 1 + loop_.Below(3);
    world_.streams = loop_.Happens(0.7);
    world_.max_message_bytes =
        loop_.Happens(0.3) ? 4 * (job_.spec.model.classes.value_or(4) * 4 + 8)
                           : 1 << 20;

    if (loop_.Happens(0.4)) world_.window_bytes = 1 + loop_.Below(200);
    if (loop_.Happens(0.6)) world_.inflight_bytes = 1 + loop_.Below(200);
    world_.stray = loop_.Happens(0.5) ? 0.03 : 0;

    SimWeatherOnTheWire weather;
    if (loop_.Happens(0.3)) {
      weather.most_delay = Milliseconds(5 + loop_.Below(35));
    }
    if (loop_.Happens(0.7)) {
      weather.lose = 0.02 * loop_.Below(4);
      weather.duplicate = 0.05 * loop_.Below(4);
      weather.late = 0.05 * loop_.Below(3);
      weather.most_late = Milliseconds(20 + loop_.Below(600));
    }
    plan_.from = Milliseconds(1100);
    plan_.until = Seconds(1) + Milliseconds(800 + loop_.Below(3500));
    plan_.longest = Milliseconds(20 + loop_.Below(1200));
    plan_.crashes = loop_.Below(5);
    plan_.stops = loop_.Below(3);
    plan_.cuts = loop_.Below(4);
    plan_.isolations = loop_.Below(3);
    plan_.splits = loop_.Below(3);
    plan_.slow_links = loop_.Below(4);
    people_.from = Milliseconds(1150);
    people_.until = plan_.until;
    if (loop_.Happens(0.5)) people_.checkpoints = loop_.Below(4);
    if (loop_.Happens(0.2)) people_.pauses = 1 + loop_.Below(2);
    if (loop_.Happens(0.25)) people_.drains = 1 + loop_.Below(2);
    people_.cancels = loop_.Happens(0.03);
    people_.power_cuts = loop_.Happens(0.1);
    if (loop_.Happens(0.3)) late_nodes_ = 0.4;
    // A seed in ten has a fair day.
    if (loop_.Happens(0.1)) {
      world_.is_fair = true;
      plan_.crashes = plan_.stops = plan_.cuts = plan_.isolations = 0;
      plan_.splits = plan_.slow_links = 0;
      people_.drains = people_.power_cuts = 0;
      people_.checkpoints += 3;
      weather = SimWeatherOnTheWire();
      late_nodes_ = 0;
    }
    network_.SetWeather(weather);
    uint32_t steps = 1;
    for (uint32_t n : job_.witness.steps) steps = std::max(steps, n);
    for (const Batch& batch : job_.train) {
      steps = std::max<uint32_t>(steps,
                                 batch.size() / job_.spec.train.batch_size + 1);
    }
    world_.think =
        std::min(Milliseconds(150),
                 (plan_.until - Seconds(1)) * (0.3 + 0.01 * loop_.Below(150)) /
                     (steps * job_.spec.train.epochs + job_.spec.train.epochs));
    if (loop_.Happens(0.2)) {
      world_.think = std::min(world_.think, Milliseconds(8));
    }
    elects_ = loop_.Happens(0.3);
    careless_ = elects_ && loop_.Happens(0.5);
    if (elects_) election_.emplace(&loop_, &stored_.records);
    if (world_.is_fair) {
      world_.think = std::min(world_.think, Milliseconds(15));
    } else {
      commit_death_ = loop_.Happens(0.3) ? 0.03 : 0;
      forward_death_ = loop_.Happens(0.3) ? 0.01 : 0;
    }
    shape_ = absl::StrCat(
        servers_n_, " servers, ", workers_n_, " workers, ",
        world_.streams ? "streams" : "datagrams", ", lose ", weather.lose,
        ", repeat ", weather.duplicate, ", late ", weather.late,
        world_.is_fair ? ", fair" : "", elects_ ? ", two schedulers" : "",
        ", window ", world_.window_bytes, ", room ", world_.inflight_bytes,
        "; ", job_.ToString());
  }

  void Begin() {
    world_.scheduler_machines = {loop_.AddMachine("scheduler")};
    if (elects_) {
      world_.scheduler_machines.push_back(loop_.AddMachine("scheduler-2"));
      election_machine_ = loop_.AddMachine("store");
    }
    for (int i = 1; i <= servers_n_; ++i) {
      const std::string name = absl::StrCat("s", i);
      const int machine = loop_.AddMachine(name);
      world_.machine_of[name] = machine;
      nodes_[machine].node.role = NodeRole::kServer;
    }
    for (int i = 1; i <= workers_n_; ++i) {
      const std::string name = absl::StrCat("w", i);
      const int machine = loop_.AddMachine(name);
      world_.machine_of[name] = machine;
      nodes_[machine].node.role = NodeRole::kWorker;
    }
    if (forward_death_ > 0) {
      world_.dies = [this](int machine) {
        if (loop_.now() > plan_.until || !loop_.Happens(forward_death_)) return;
        ++world_.counts["server dies after forwarding"];
        CrashSoon(machine);
      };
    }
    std::vector<int> machines = world_.scheduler_machines;
    for (int machine : machines) StartScheduler(machine);
    if (elects_) machines.push_back(election_machine_);
    for (auto& [machine, life] : nodes_) {
      machines.push_back(machine);
      if (life.node.role == NodeRole::kServer) machines.push_back(machine);
      if (!loop_.Happens(late_nodes_)) {
        StartNode(machine);
        continue;
      }
      ++world_.counts["nodes that came late"];
      loop_.Crash(machine);
      loop_.After(loop_.Between(absl::ZeroDuration(), plan_.until - Seconds(1)),
                  SimLoop::kWorld, "comes",
                  [this, machine = machine] { Start(machine); });
    }
    if (!calm_) {
      faults_.Plan(plan_, machines);
      operators_.Plan(people_);
      loop_.After(plan_.until - loop_.now(), SimLoop::kWorld, "calm", [this] {
        network_.SetWeather({});
        // What drains is of no use to the job, and may be all there is.
        for (const auto& [machine, life] : world_.draining) {
          if (loop_.life(machine) == life) CrashSoon(machine);
        }
      });
    }
    loop_.After(Milliseconds(80), SimLoop::kWorld, "submit",
                [this] { Submit(); });
  }

  // The client: until it is answered.
  void Submit() {
    if (submitted_) return;
    JobSubmitted event;
    event.id = absl::StrCat("job", ++submissions_);
    event.request.spec = job_.spec;
    event.request.base_directory = "/jobs";
    event.request.submission_id = "once";
    world_.CallScheduler<std::string>(
        SimLoop::kWorld, "submit", Milliseconds(200),
        [event](SimScheduler* scheduler, auto answer) {
          scheduler->Submit(event, answer);
        },
        [this](absl::StatusOr<std::string> id) {
          if (id.ok()) submitted_ = true;
          if (!id.ok() && !absl::IsUnavailable(id.status()) &&
              !absl::IsDeadlineExceeded(id.status()) &&
              !absl::IsInvalidArgument(id.status())) {
            checker_->Report(absl::StrCat("submit: ", id.status().ToString()));
          }
          if (!submitted_) {
            loop_.After(Milliseconds(50), SimLoop::kWorld, "submit",
                        [this] { Submit(); });
          }
        });
  }

  // Lives ---------------------------------------------------------------------

  void CrashSoon(int machine) {
    loop_.After(absl::ZeroDuration(), SimLoop::kWorld, "dies",
                [this, machine] { Crash(machine); });
    loop_.After(loop_.Between(Milliseconds(1), Milliseconds(600)),
                SimLoop::kWorld, "back", [this, machine] { Start(machine); });
  }

  void Crash(int machine) {
    if (!loop_.IsUp(machine) || machine == election_machine_) return;
    loop_.Crash(machine);
    if (IsScheduler(machine)) {
      world_.schedulers.erase(machine);
      schedulers_.erase(machine);
    } else {
      NodeLife& life = nodes_.at(machine);
      world_.servers.erase(machine);
      world_.workers.erase(machine);
      life.server.reset();
      life.worker.reset();
    }
    if (calm_ || !loop_.Happens(0.5)) return;
    disk_.Crash([this](uint64_t n) { return loop_.Below(n); });
    disk_.ForEach(
        [this](MemoryBlobFolder* folder) { checks_->CheckFolder(folder); });
  }

  void Start(int machine) {
    if (loop_.IsUp(machine)) return;
    loop_.Restart(machine);
    if (IsScheduler(machine)) {
      StartScheduler(machine);
    } else {
      StartNode(machine);
    }
  }

  bool IsScheduler(int machine) const {
    const std::vector<int>& all = world_.scheduler_machines;
    return std::find(all.begin(), all.end(), machine) != all.end();
  }

  void StartScheduler(int machine) {
    SchedulerOptions options;
    options.keeps_state = true;
    options.heartbeat_timeout = world_.timeout;
    options.job.default_partitions = 2;
    options.job.ledger_interval = Milliseconds(100);
    options.job.retry.pause = Milliseconds(10);
    options.job.retry.pause_max = Milliseconds(200);
    options.job.lease = world_.lease;
    options.job.checkpoint_pause = Milliseconds(100);
    auto& scheduler = schedulers_[machine];
    scheduler = std::make_unique<SimScheduler>(
        &world_, machine, &stored_, options,
        election_.has_value() ? &*election_ : nullptr, election_machine_);
    world_.schedulers[machine] = scheduler.get();
    scheduler->careless = careless_;
    scheduler->deposed = [this, machine] { CrashSoon(machine); };
    if (commit_death_ > 0) {
      scheduler->death = [this, machine] {
        if (loop_.now() > plan_.until || !loop_.Happens(commit_death_)) {
          return SimScheduler::Death::kNone;
        }
        CrashSoon(machine);
        if (loop_.Happens(0.3)) {
          ++world_.counts["scheduler dies before commit"];
          return SimScheduler::Death::kBeforeCommit;
        }
        ++world_.counts["scheduler dies after commit"];
        return SimScheduler::Death::kBehindCommit;
      };
    }
    scheduler->Start();
  }

  void StartNode(int machine) {
    NodeLife& life = nodes_.at(machine);
    Node& node = life.node;
    node.name = loop_.name(machine);
    node.address = node.name;
    node.host = node.name;
    node.arithmetic = "x";
    node.version = kVersion;
    if (node.incarnation == 0 ||
        !IsPlanted(PlantedBug::kSameIncarnationAfterRestart)) {
      node.incarnation = loop_.Number();
    }
    life.registered = false;
    if (node.role == NodeRole::kServer) {
      life.server = std::make_unique<SimServer>(&world_, machine, node);
      world_.servers[machine] = life.server.get();
      life.server->Start();
    } else {
      life.worker = std::make_unique<SimWorker>(&world_, machine, node);
      world_.workers[machine] = life.worker.get();
    }
    loop_.Tell(machine,
               [&] { return absl::StrCat("incarnation ", node.incarnation); });
    Beat(machine);
  }

  TermGuard* TermsOf(const NodeLife& life) {
    return life.server != nullptr ? life.server->terms() : life.worker->terms();
  }

  // What a cluster agent does.
  void Beat(int machine) {
    loop_.After(world_.heartbeat, machine, "heartbeat",
                [this, machine] { Beat(machine); });
    NodeLife& life = nodes_.at(machine);
    const auto heard = [this, machine, asked = life.registrations](
                           absl::StatusOr<uint64_t> term) {
      NodeLife& life = nodes_.at(machine);
      // An agent has one call out at a time, and hears no answer that is late.
      if (life.registrations != asked) return;
      if (term.ok()) {
        TermsOf(life)->Heard(*term);
        // Another scheduler is to be told what is held.
        const bool is_new = !life.registered;
        life.registered = is_new || life.term == *term;
        if (life.registered) life.term = *term;
        if (is_new) ++life.registrations;
      } else if (absl::IsNotFound(term.status())) {
        life.registered = false;
        if (life.worker != nullptr) life.worker->LetGo();
      }
    };
    const auto beaten = [this, machine,
                         heard](absl::StatusOr<SimScheduler::Beat> beat) {
      if (!beat.ok()) return heard(beat.status());
      heard(beat->first);
      if (beat->second) Depart(machine);
    };
    if (!life.registered) {
      std::vector<HeldPartition> held;
      if (life.server != nullptr) held = life.server->jobs().Held();
      world_.CallScheduler<uint64_t>(
          machine, "register", world_.call_timeout,
          [node = life.node, held, term = TermsOf(life)->highest()](
              SimScheduler* scheduler, auto answer) {
            scheduler->Register(node, term, held, answer);
          },
          heard);
      return;
    }
    NodeHeartbeat event;
    event.name = life.node.name;
    event.incarnation = life.node.incarnation;
    if (life.server != nullptr) {
      event.silent_peers = life.server->jobs().SilentPeers();
    }
    world_.CallScheduler<SimScheduler::Beat>(
        machine, "heartbeat", world_.call_timeout,
        [event](SimScheduler* scheduler, auto answer) {
          scheduler->Heartbeat(event, answer);
        },
        beaten);
  }

  // A node that is drained stops, and comes again another day.
  void Depart(int machine) {
    ++world_.counts["drained"];
    loop_.Tell(machine, [] { return "### is drained"; });
    const Node& node = nodes_.at(machine).node;
    world_.CallScheduler<int>(
        machine, "leave", world_.call_timeout,
        [name = node.name, incarnation = node.incarnation](
            SimScheduler* scheduler, auto answer) {
          scheduler->Tell(NodeLeft{name, incarnation}, answer);
        },
        [](absl::StatusOr<int>) {});
    CrashSoon(machine);
  }

  // Checks --------------------------------------------------------------------

  const JobView* View() const { return ViewOf(world_); }

  // It has ended, and nobody has anything of it any more.
  bool Freed() const {
    const JobView* view = View();
    return view != nullptr && HasEnded(view->state) &&
           world_.Leader()->core().IsFreed(view->id) &&
           (calm_ || LeftOvers(world_).empty());
  }

  void Finish() {
    const JobView* view = View();
    if (view == nullptr || !HasEnded(view->state)) {
      return checker_->Report(
          absl::StrCat("the job does not end:\n", StandingOf(world_)));
    }
    if (!Freed()) {
      return checker_->Report(absl::StrCat(
          "the job has ended, and something is left: ", LeftOvers(world_),
          StandingOf(world_)));
    }
    if (view->state == JobState::kCancelled && operators_.cancelled()) return;
    if (view->state != JobState::kSucceeded) {
      return checker_->Report(absl::StrCat(
          "the job ended as ", JobStateName(view->state), ": ", view->error));
    }
    const auto model = stored_.models.find(view->id);
    if (model == stored_.models.end()) {
      return checker_->Report("the job succeeded without a model");
    }
    uint64_t examples = 0;
    for (const EpochView& epoch : view->epochs) examples += epoch.examples;
    if (examples != view->epochs.size() * job_.train_records()) {
      checker_->Report(absl::StrCat("the metrics count ", examples,
                                    " examples in ", view->epochs.size(),
                                    " epochs of ", job_.train_records()));
    }
    const size_t epochs = view->epochs.size();
    if (job_.is_witness) {
      for (uint32_t t = 0; t < job_.tables.size(); ++t) {
        checker_->Final(model->second.generation, t, epochs,
                        model->second.tables[t]);
      }
      // Its loss becomes worse with every epoch.
      const auto& stop = job_.spec.train.stop;
      const size_t wanted = stop.has_value() ? std::min(stop->patience + 1,
                                                        job_.spec.train.epochs)
                                             : job_.spec.train.epochs;
      if (epochs != wanted) {
        checker_->Report(absl::StrCat("the job trained ", epochs,
                                      " epochs instead of ", wanted));
      }
      return;
    }
    result_.emplace();
    result_->tables = model->second.tables;
    result_->epochs = view->epochs;
    if (calm_) return;
    const JobResult& calm = Undisturbed();
    if (calm.tables != result_->tables) {
      checker_->Report("the model is not that of the undisturbed run");
    }
    bool same = calm.epochs.size() == result_->epochs.size();
    for (size_t i = 0; same && i < calm.epochs.size(); ++i) {
      same = calm.epochs[i].train == result_->epochs[i].train &&
             calm.epochs[i].validation == result_->epochs[i].validation;
    }
    if (!same) {
      checker_->Report("the metrics are not those of the undisturbed run");
    }
  }

  const JobResult& Undisturbed() {
    static auto* results = new std::map<std::string, JobResult>;
    const auto it = results->find(job_.key);
    if (it != results->end()) return it->second;
    ClusterSim calm(1, false, &job_);
    const SimOutcome outcome = calm.Run();
    for (const std::string& problem : outcome.problems) {
      checker_->Report(absl::StrCat("undisturbed: ", problem));
    }
    return results->emplace(job_.key, calm.Result().value_or(JobResult()))
        .first->second;
  }

  SimOutcome Tell() {
    SimOutcome outcome;
    outcome.problems = checker_->errors();
    outcome.hash = loop_.hash();
    outcome.shape = shape_;
    outcome.history = loop_.History(~size_t{0});
    outcome.counts = world_.counts;
    auto& counts = outcome.counts;
    counts["runs"] = 1;
    counts["pulls"] = checker_->pulls();
    counts["pushes"] = checker_->pushes();
    counts["acknowledged"] = checker_->acknowledged();
    counts["faults.crashes"] = faults_.counts().crashes;
    counts["faults.stops"] = faults_.counts().stops;
    counts["faults.cuts"] = faults_.counts().cuts;
    counts["faults.isolations"] = faults_.counts().isolations;
    counts["faults.splits"] = faults_.counts().splits;
    counts["faults.slow links"] = faults_.counts().slow_links;
    counts["messages"] = network_.counts().sent;
    counts["messages.lost"] = network_.counts().lost;
    counts["messages.cut"] = network_.counts().cut;
    counts["messages.repeated"] = network_.counts().repeated;
    counts["messages.late"] = network_.counts().late;
    counts["events"] = loop_.events();
    counts["scheduler terms"] = stored_.term;
    if (election_.has_value()) {
      counts["changes of the leader"] = election_->elections() - 1;
    }
    if (const JobView* view = View(); view != nullptr) {
      counts["recoveries"] = view->recoveries;
      counts["epochs of training"] = view->epochs.size();
    }
    return outcome;
  }

  void Close() {
    world_.schedulers.clear();
    schedulers_.clear();
    world_.servers.clear();
    world_.workers.clear();
    for (auto& [machine, life] : nodes_) {
      if (loop_.IsUp(machine)) loop_.Crash(machine);
      life.worker.reset();
      life.server.reset();
    }
  }

  const bool calm_;
  SimLoop loop_;
  SimNetwork network_;
  SimFaults faults_;
  SimFaultPlan plan_;
  SimDisk disk_;
  ClusterJob job_;
  std::optional<WitnessChecker> checker_;
  std::optional<ClusterChecks> checks_;
  ClusterWorld world_;
  ReplicaComparison replicas_{&world_};
  ClusterOperators operators_{&world_,
                              {.crash = [this](int m) { Crash(m); },
                               .start = [this](int m) { Start(m); }}};
  OperatorPlan people_;
  std::string shape_;
  SimSchedulerDisk stored_;
  bool elects_ = false;    // Two schedulers, of which one leads.
  bool careless_ = false;  // See SimScheduler.
  std::optional<SimElection> election_;
  int election_machine_ = -1;
  std::map<int, std::unique_ptr<SimScheduler>> schedulers_;  // By machine.
  std::map<int, NodeLife> nodes_;
  std::optional<JobResult> result_;

  int servers_n_ = 1;
  int workers_n_ = 1;
  double late_nodes_ = 0;
  double commit_death_ = 0;
  double forward_death_ = 0;
  bool submitted_ = false;
  int submissions_ = 0;
};

}  // namespace

SimOutcome RunClusterSim(uint64_t seed, bool record) {
  return ClusterSim(seed, record).Run();
}

}  // namespace seraph::testing
