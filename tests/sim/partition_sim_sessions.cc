#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/partition_sim_run.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;
using absl::Seconds;

}  // namespace

void PartitionSim::ChooseSessions() {
  if (job_.sync.spec.mode == SyncMode::kBsp || loop_.Happens(0.5)) return;
  job_.sessions = 1 + loop_.Below(3);
  session_think_ = Milliseconds(10 + loop_.Below(70));
  if (!loop_.Happens(0.5)) return;
  cut_offs_ = 1 + loop_.Below(4);
  job_.sessions = std::max<uint32_t>(job_.sessions, 2);
  session_think_ = std::min(session_think_, Milliseconds(25));
  servers_n_ = std::max(servers_n_, 3);
  replicas_ = std::max(replicas_, 2);
}

void PartitionSim::LeaveToCutOffs() {
  if (cut_offs_ == 0) return;
  for (int* faults : {&plan_.crashes, &plan_.stops, &plan_.cuts,
                      &plan_.isolations, &plan_.splits}) {
    *faults = std::min(*faults, 1);
  }
  if (loop_.Happens(0.8)) timeout_ = Milliseconds(120);
}

void PartitionSim::BeginSessions(std::vector<int>* machines) {
  for (uint32_t s = 0; s < job_.sessions; ++s) {
    const int machine = loop_.AddMachine(absl::StrCat("c", s + 1));
    machines->push_back(machine);
    session_machines_.push_back(machine);
    // Some do nothing but look; so does who is beside a primary that is cut
    // off, as a push there would keep all looks waiting.
    const bool looks = loop_.Happens(0.25) || (cut_offs_ > 0 && s == 0);
    const uint32_t pushes =
        looks ? 0 : 1 + loop_.Below(WitnessJob::kMostOfSession);
    // Pushes are spread over the time in which things break.
    const double calls = (plan_.until - Seconds(1)) / session_think_;
    sessions_.push_back(std::make_unique<SimSession>(
        &loop_, machine, &job_, &*checker_, s,
        SimSession::Habits{.pushes = pushes,
                           .think = session_think_,
                           .push_share = std::min(0.5, pushes / calls)},
        PeersOf(machine)));
    sessions_.back()->Start();
  }
  for (int i = 0; i < cut_offs_; ++i) {
    const absl::Duration lasts = Milliseconds(150 + loop_.Below(300));
    loop_.After(loop_.Between(Milliseconds(100), plan_.until - Seconds(1)),
                SimLoop::kWorld, "cut off", [this, lasts] {
                  CutOffPrimary(std::min(lasts, plan_.until - loop_.now()));
                });
  }
}

SimSessionPeers PartitionSim::PeersOf(int machine) {
  SimSessionPeers peers;
  peers.push = [this, machine](const Node& server, uint64_t generation,
                               PushMessage message, auto done) {
    CallServer<Answer>(
        machine, server, "push",
        [generation, message](ReplicaHost* host, auto answer) {
          host->Push(generation, message, answer);
        },
        done);
  };
  peers.pull = [this, machine](const Node& server, uint64_t generation,
                               PullMessage message, auto done) {
    CallServer<Answer>(
        machine, server, "pull",
        [generation, message](ReplicaHost* host, auto answer) {
          host->Pull(generation, message, answer);
        },
        [this, generation, done](absl::StatusOr<Answer> answer) {
          if (answer.ok() && answer->outcome.code == PartCode::kOk &&
              generation == stored_.generation &&
              answer->epoch < stored_.group->epoch) {
            ++counts_["looks at who was deposed"];
          }
          done(std::move(answer));
        });
  };
  peers.place = [this, machine](auto done) {
    network_.Call<SimSessionPeers::Place>(
        machine, scheduler_, "placement", kCallTimeout,
        [this](auto answer) {
          answer(SimSessionPeers::Place(stored_.generation, Placement()));
        },
        done);
  };
  return peers;
}

bool PartitionSim::SessionsAreDone() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [this](const std::unique_ptr<SimSession>& session) {
                       return session->IsDone(stored_.generation);
                     });
}

void PartitionSim::CutOffPrimary(absl::Duration back) {
  const PartitionPlacement placement = Placement();
  if (placement.primary.name.empty()) return;
  const int primary = MachineOf(placement.primary);
  const int beside = session_machines_[0];
  ++counts_["primary cut off"];
  loop_.Tell(SimLoop::kWorld, [&] {
    return absl::StrCat("### ", placement.primary.name, " is cut off with ",
                        loop_.name(beside));
  });
  std::vector<std::pair<int, int>> cut = {{scheduler_, beside}};
  std::vector<int> others = {scheduler_};
  for (const auto& [machine, server] : servers_) others.push_back(machine);
  others.insert(others.end(), workers_.begin(), workers_.end());
  others.insert(others.end(), session_machines_.begin(),
                session_machines_.end());
  for (int other : others) {
    if (other != primary && other != beside) cut.emplace_back(primary, other);
  }
  for (const auto& [a, b] : cut) {
    network_.Cut(a, b);
    network_.Cut(b, a);
  }
  loop_.After(back, SimLoop::kWorld, "mend", [this, cut] {
    for (const auto& [a, b] : cut) {
      network_.Mend(a, b);
      network_.Mend(b, a);
    }
  });
}

}  // namespace seraph::testing
