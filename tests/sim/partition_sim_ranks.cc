#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/sim/partition_sim_run.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;
using absl::Seconds;

}  // namespace

PartitionPlacement PartitionSim::Placement() const {
  PartitionPlacement placement;
  if (!stored_.group.has_value()) return placement;
  placement.epoch = stored_.group->epoch;
  for (const Node& node : stored_.group->members) {
    if (node.incarnation == stored_.group->primary) placement.primary = node;
  }
  return placement;
}

void PartitionSim::HandOut(uint32_t rank, bool anew) {
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

void PartitionSim::SendRun(uint32_t rank, uint32_t attempt, uint64_t generation,
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

void PartitionSim::Run(uint32_t rank, uint32_t attempt, uint64_t generation,
                       int machine, const PartitionPlacement& placement) {
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
  peers.begin_attempt = [this, machine](const Node& server, uint64_t generation,
                                        RankName name, auto done) {
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
  life.rank =
      std::make_unique<SimRank>(&loop_, machine, &job_, &*checker_,
                                WitnessChecker::Who{generation, rank, attempt},
                                placement, std::move(peers));
  SimRank* started = life.rank.get();
  lives_[rank].push_back(std::move(life));
  started->Start();
}

void PartitionSim::ReportDone(uint32_t rank, int machine, uint64_t generation) {
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

void PartitionSim::TellRanks() {
  const PartitionPlacement placement = Placement();
  const uint64_t generation = stored_.generation;
  for (size_t i = 0; i < sessions_.size(); ++i) {
    network_.Send(scheduler_, session_machines_[i], "placements",
                  [session = sessions_[i].get(), generation, placement] {
                    session->Update(generation, placement);
                  });
  }
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

int PartitionSim::MachineOf(const Node& node) const {
  return world_.machine_of.at(node.incarnation);
}

ReplicaHost* PartitionSim::HostOn(int machine) {
  return servers_.at(machine).host.get();
}

}  // namespace seraph::testing
