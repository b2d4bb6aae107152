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
#include "server/core/partition_snapshot.h"
#include "tests/sim/cluster_job.h"
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
    while (loop_.now() < deadline && !loop_.exhausted() && !Ended() &&
           checker_->errors().empty()) {
      next_look += Milliseconds(20);
      loop_.RunUntil(next_look);
      CompareReplicas();
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
    world_.checker = &*checker_;
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

    SimWeatherOnTheWire weather;
    if (loop_.Happens(0.7)) {
      weather.lose = 0.02 * loop_.Below(4);
      weather.duplicate = 0.05 * loop_.Below(4);
      weather.late = 0.05 * loop_.Below(3);
      weather.most_late = Milliseconds(20 + loop_.Below(600));
    }
    network_.SetWeather(weather);
    plan_.from = Milliseconds(1100);
    plan_.until = Seconds(1) + Milliseconds(800 + loop_.Below(3500));
    plan_.longest = Milliseconds(20 + loop_.Below(1200));
    plan_.crashes = loop_.Below(5);
    plan_.stops = loop_.Below(3);
    plan_.cuts = loop_.Below(4);
    plan_.isolations = loop_.Below(3);
    plan_.slow_links = loop_.Below(4);
    // A seed in ten has a fair day.
    if (loop_.Happens(0.1)) {
      plan_.crashes = plan_.stops = plan_.cuts = plan_.isolations = 0;
    }
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
    commit_death_ = loop_.Happens(0.3) ? 0.03 : 0;
    forward_death_ = loop_.Happens(0.3) ? 0.01 : 0;
    shape_ = absl::StrCat(servers_n_, " servers, ", workers_n_, " workers, ",
                          world_.streams ? "streams" : "datagrams", ", lose ",
                          weather.lose, ", repeat ", weather.duplicate,
                          ", late ", weather.late, "; ", job_.ToString());
  }

  void Begin() {
    world_.scheduler_machine = loop_.AddMachine("scheduler");
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
    StartScheduler();
    std::vector<int> machines = {world_.scheduler_machine};
    for (auto& [machine, life] : nodes_) {
      StartNode(machine);
      machines.push_back(machine);
      if (life.server != nullptr) machines.push_back(machine);
    }
    if (!calm_) {
      faults_.Plan(plan_, machines);
      loop_.After(plan_.until - loop_.now(), SimLoop::kWorld, "calm",
                  [this] { network_.SetWeather({}); });
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
    network_.Call<std::string>(
        SimLoop::kWorld, world_.scheduler_machine, "submit", Milliseconds(200),
        [this, event](auto answer) {
          if (world_.scheduler != nullptr) {
            world_.scheduler->Submit(event, answer);
          }
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
    if (!loop_.IsUp(machine)) return;
    loop_.Crash(machine);
    if (machine == world_.scheduler_machine) {
      world_.scheduler = nullptr;
      scheduler_.reset();
    } else {
      NodeLife& life = nodes_.at(machine);
      world_.servers.erase(machine);
      world_.workers.erase(machine);
      if (life.server != nullptr && loop_.Happens(0.5)) {
        disk_.Crash([this](uint64_t n) { return loop_.Below(n); });
      }
      life.server.reset();
      life.worker.reset();
    }
  }

  void Start(int machine) {
    if (loop_.IsUp(machine)) return;
    loop_.Restart(machine);
    if (machine == world_.scheduler_machine) {
      StartScheduler();
    } else {
      StartNode(machine);
    }
  }

  void StartScheduler() {
    SchedulerOptions options;
    options.keeps_state = true;
    options.heartbeat_timeout = world_.timeout;
    options.job.default_partitions = 2;
    options.job.ledger_interval = Milliseconds(100);
    options.job.retry.pause = Milliseconds(10);
    options.job.retry.pause_max = Milliseconds(200);
    options.job.lease = world_.lease;
    options.job.checkpoint_pause = Milliseconds(100);
    scheduler_ = std::make_unique<SimScheduler>(
        &world_, world_.scheduler_machine, &stored_, options);
    world_.scheduler = scheduler_.get();
    if (commit_death_ > 0) {
      scheduler_->death = [this] {
        if (loop_.now() > plan_.until || !loop_.Happens(commit_death_)) {
          return SimScheduler::Death::kNone;
        }
        CrashSoon(world_.scheduler_machine);
        if (loop_.Happens(0.3)) {
          ++world_.counts["scheduler dies before commit"];
          return SimScheduler::Death::kBeforeCommit;
        }
        ++world_.counts["scheduler dies after commit"];
        return SimScheduler::Death::kBehindCommit;
      };
    }
    scheduler_->Start();
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
    const auto heard = [this, machine](absl::StatusOr<uint64_t> term) {
      NodeLife& life = nodes_.at(machine);
      if (term.ok()) {
        TermsOf(life)->Heard(*term);
        // Another scheduler is to be told what is held.
        life.registered = !life.registered || life.term == *term;
        if (life.registered) life.term = *term;
      } else if (absl::IsNotFound(term.status())) {
        life.registered = false;
      }
    };
    if (!life.registered) {
      std::vector<HeldPartition> held;
      if (life.server != nullptr) held = life.server->jobs().Held();
      network_.Call<uint64_t>(
          machine, world_.scheduler_machine, "register", world_.call_timeout,
          [this, node = life.node, held,
           term = TermsOf(life)->highest()](auto answer) {
            if (world_.scheduler != nullptr) {
              world_.scheduler->Register(node, term, held, answer);
            }
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
    network_.Call<uint64_t>(
        machine, world_.scheduler_machine, "heartbeat", world_.call_timeout,
        [this, event](auto answer) {
          if (world_.scheduler != nullptr) {
            world_.scheduler->Heartbeat(event, answer);
          }
        },
        heard);
  }

  // Checks --------------------------------------------------------------------

  const JobView* View() const {
    if (world_.scheduler == nullptr) return nullptr;
    const auto jobs = world_.scheduler->core().Jobs();
    if (jobs.empty()) return nullptr;
    return world_.scheduler->core().Find(jobs.front().id);
  }

  bool Ended() const {
    const JobView* view = View();
    return view != nullptr && HasEnded(view->state);
  }

  void CompareReplicas() {
    for (auto& [machine, server] : world_.servers) {
      if (loop_.IsStopped(machine)) continue;
      server->Look([this, machine = machine](const JobName& job,
                                             const Partition& partition) {
        if (!partition.holds()) return;
        const LogPosition last = partition.State().last;
        const Snapshot snapshot = EncodeSnapshot(partition.state());
        const uint64_t content = std::hash<std::string>()(snapshot.bytes);
        const ReplicaState state = partition.State();
        const auto [it, is_new] = content_.emplace(
            std::tuple(job.generation, state.table, state.partition, last.epoch,
                       last.number),
            content);
        if (!is_new) ++world_.counts["replicas compared"];
        if (it->second != content) {
          checker_->Report(absl::StrCat(
              loop_.name(machine), ": table ", state.table, ", partition ",
              state.partition, " at ", last.epoch, ":", last.number,
              " holds other bytes than another did"));
        }
      });
    }
  }

  std::string Standing() const {
    std::string text;
    if (const JobView* view = View(); view != nullptr) {
      absl::StrAppend(&text, JobStateName(view->state), " ",
                      JobPhaseName(view->phase), " ", view->error, " ",
                      view->waiting_for, "\n");
    } else {
      absl::StrAppend(&text, "no job\n");
    }
    for (const auto& [machine, worker] : world_.workers) {
      absl::StrAppend(&text, worker->Standing());
    }
    for (const auto& [machine, server] : world_.servers) {
      absl::StrAppend(&text, loop_.name(machine), ":");
      for (const auto& job : server->jobs().All()) {
        for (const auto& [place, actor] : job->partitions) {
          const auto& gauges = actor->gauges();
          absl::StrAppend(&text, " [", place.first, "/", place.second, " gen ",
                          job->name.generation, " epoch ", gauges.epoch.load(),
                          " duty ", static_cast<int>(gauges.duty.load()),
                          " at ", gauges.position.load(), " parked ",
                          gauges.parked.load(), "]");
        }
      }
      absl::StrAppend(&text, "\n");
    }
    return text;
  }

  void Finish() {
    const JobView* view = View();
    if (view == nullptr || !HasEnded(view->state)) {
      return checker_->Report(
          absl::StrCat("the job does not end:\n", Standing()));
    }
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
    if (job_.is_witness) {
      const bool whole = view->epochs.size() == job_.spec.train.epochs;
      for (uint32_t t = 0; whole && t < job_.tables.size(); ++t) {
        checker_->Final(model->second.generation, t, model->second.tables[t]);
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
    counts["faults.slow links"] = faults_.counts().slow_links;
    counts["messages"] = network_.counts().sent;
    counts["messages.lost"] = network_.counts().lost;
    counts["messages.cut"] = network_.counts().cut;
    counts["messages.repeated"] = network_.counts().repeated;
    counts["messages.late"] = network_.counts().late;
    counts["events"] = loop_.events();
    counts["scheduler terms"] = stored_.term;
    if (const JobView* view = View(); view != nullptr) {
      counts["recoveries"] = view->recoveries;
      counts["epochs of training"] = view->epochs.size();
    }
    return outcome;
  }

  void Close() {
    world_.scheduler = nullptr;
    scheduler_.reset();
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
  ClusterWorld world_;
  std::string shape_;
  SimSchedulerDisk stored_;
  std::unique_ptr<SimScheduler> scheduler_;
  std::map<int, NodeLife> nodes_;
  std::optional<JobResult> result_;
  std::map<std::tuple<uint64_t, uint32_t, uint32_t, uint64_t, uint64_t>,
           uint64_t>
      content_;

  int servers_n_ = 1;
  int workers_n_ = 1;
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
