#include "tests/sim/cluster_look.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "server/core/partition_snapshot.h"
#include "tests/sim/sim_scheduler.h"
#include "tests/sim/sim_server.h"
#include "tests/sim/sim_worker.h"

namespace seraph::testing {

void ReplicaComparison::Look() {
  for (auto& [machine, server] : world_.servers) {
    if (world_.loop->IsStopped(machine)) continue;
    server->Look([this, server = server](const JobName& job,
                                         const Partition& partition) {
      const ReplicaState state = partition.State();
      const std::string where =
          absl::StrCat(server->node().name, ": table ", state.table,
                       ", partition ", state.partition);
      Stood& stood = stood_[{server->node().incarnation, job.generation,
                             state.table, state.partition}];
      if (state.epoch < stood.epoch) {
        world_.checker->Report(absl::StrCat(where, " goes back from epoch ",
                                            stood.epoch, " to ", state.epoch));
      }
      if (state.epoch != stood.epoch) stood = {state.epoch, LogPosition()};
      if (!partition.holds()) return;
      const LogPosition last = state.last;
      if (last < stood.last) {
        world_.checker->Report(absl::StrCat(
            where, " holds the log up to ", last.epoch, ":", last.number,
            ", and held it up to ", stood.last.epoch, ":", stood.last.number,
            " before, in epoch ", state.epoch));
      }
      stood.last = last;
      const Snapshot snapshot = EncodeSnapshot(partition.state());
      const uint64_t content = std::hash<std::string>()(snapshot.bytes);
      const auto [it, is_new] =
          content_.emplace(std::tuple(job.generation, state.table,
                                      state.partition, last.epoch, last.number),
                           content);
      if (!is_new) ++world_.counts["replicas compared"];
      if (it->second != content) {
        world_.checker->Report(absl::StrCat(where, " at ", last.epoch, ":",
                                            last.number,
                                            " holds other bytes than another "
                                            "did"));
      }
    });
  }
}

const JobView* ViewOf(const ClusterWorld& world) {
  const SimScheduler* leader = world.Leader();
  if (leader == nullptr) return nullptr;
  const auto jobs = leader->core().Jobs();
  if (jobs.empty()) return nullptr;
  return leader->core().Find(jobs.front().id);
}

std::string StandingOf(const ClusterWorld& world) {
  std::string text;
  if (const JobView* view = ViewOf(world); view != nullptr) {
    absl::StrAppend(&text, JobStateName(view->state), " ",
                    JobPhaseName(view->phase), " ", view->error, " ",
                    view->waiting_for, "\n");
  } else {
    absl::StrAppend(&text, "no job\n");
  }
  for (const auto& [machine, worker] : world.workers) {
    absl::StrAppend(&text, worker->Standing());
  }
  for (const auto& [machine, server] : world.servers) {
    absl::StrAppend(&text, server->node().name, ":");
    for (const auto& job : server->jobs().All()) {
      for (const auto& [place, actor] : job->partitions) {
        const auto& gauges = actor->gauges();
        absl::StrAppend(&text, " [", place.first, "/", place.second, " gen ",
                        job->name.generation, " epoch ", gauges.epoch.load(),
                        " duty ", static_cast<int>(gauges.duty.load()), " at ",
                        gauges.position.load(), " parked ",
                        gauges.parked.load(), "]");
      }
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string LeftOvers(const ClusterWorld& world) {
  std::string text;
  for (const auto& [machine, server] : world.servers) {
    for (const auto& job : server->jobs().All()) {
      if (job->partitions.empty()) continue;
      absl::StrAppend(&text, server->node().name, " holds generation ",
                      job->name.generation, "; ");
    }
  }
  for (const auto& [machine, worker] : world.workers) {
    // One that was called dead is told nothing more of what it had.
    if (world.called_dead.count(worker->node().incarnation) > 0) continue;
    if (worker->runs_something()) {
      absl::StrAppend(&text, worker->node().name, " runs ranks; ");
    }
  }
  return text;
}

}  // namespace seraph::testing
