#include "tests/sim/cluster_operators.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/cluster_look.h"
#include "tests/sim/sim_scheduler.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;
using absl::Seconds;

}  // namespace

void ClusterOperators::Plan(const OperatorPlan& plan) {
  const auto each = [&](int count, const char* what,
                        void (ClusterOperators::*act)()) {
    for (int i = 0; i < count; ++i) {
      world_.loop->After(
          world_.loop->Between(plan.from, plan.until) - world_.loop->now(),
          SimLoop::kWorld, what, [this, act] { (this->*act)(); });
    }
  };
  each(plan.checkpoints, "asks for a checkpoint",
       &ClusterOperators::Checkpoint);
  each(plan.pauses, "pauses", &ClusterOperators::Pause);
  each(plan.drains, "drains", &ClusterOperators::Drain);
  each(plan.cancels, "cancels", &ClusterOperators::Cancel);
  each(plan.power_cuts, "power cut", &ClusterOperators::CutPower);
  if (plan.pauses > 0) Watch();
}

const JobView* ClusterOperators::Job() const { return ViewOf(world_); }

void ClusterOperators::Ask(
    const char* what, absl::Duration timeout,
    std::function<void(SimScheduler*, SimNetwork::Answer<int>)> serve,
    std::function<void(const absl::Status&)> done) {
  world_.CallScheduler<int>(SimLoop::kWorld, what, timeout, serve,
                            [this, what, done](absl::StatusOr<int> reply) {
                              world_.loop->Tell(SimLoop::kWorld, [&] {
                                return absl::StrCat("### ", what, ": ",
                                                    reply.status().ToString());
                              });
                              done(reply.status());
                            });
}

void ClusterOperators::Checkpoint() {
  const JobView* job = Job();
  if (job == nullptr) return;
  Ask(
      "checkpoint", Seconds(5),
      [id = job->id](SimScheduler* scheduler, auto answer) {
        scheduler->Checkpoint(id, answer);
      },
      [this](const absl::Status& status) {
        if (status.ok()) ++world_.counts["checkpoints on demand"];
      });
}

void ClusterOperators::Pause() {
  const JobView* job = Job();
  if (job == nullptr) return;
  ++pausing_;
  Ask(
      "pause", Seconds(5),
      [id = job->id](SimScheduler* scheduler, auto answer) {
        scheduler->Pause(id, answer);
      },
      [this](const absl::Status& status) {
        if (status.ok()) ++world_.counts["pauses"];
        world_.loop->After(
            world_.loop->Between(absl::ZeroDuration(), Milliseconds(500)),
            SimLoop::kWorld, "resumes", [this] {
              --pausing_;
              Resume();
            });
      });
}

void ClusterOperators::Resume() {
  const JobView* job = Job();
  if (job == nullptr || resuming_) return;
  resuming_ = true;
  Ask(
      "resume", Milliseconds(400),
      [id = job->id](SimScheduler* scheduler, auto answer) {
        scheduler->Tell(JobResumed{id}, answer);
      },
      [this](const absl::Status& status) { resuming_ = false; });
}

void ClusterOperators::Watch() {
  world_.loop->After(Milliseconds(300), SimLoop::kWorld, "watches", [this] {
    Watch();
    const JobView* job = Job();
    if (job != nullptr && job->state == JobState::kPaused && pausing_ == 0) {
      Resume();
    }
  });
}

void ClusterOperators::Cancel() {
  const JobView* job = Job();
  if (job == nullptr || HasEnded(job->state)) return;
  cancelled_ = true;
  Ask(
      "cancel", Milliseconds(400),
      [id = job->id](SimScheduler* scheduler, auto answer) {
        scheduler->Tell(JobCancelled{id}, answer);
      },
      [this](const absl::Status& status) {
        if (status.ok()) {
          ++world_.counts["cancelled"];
        } else if (!absl::IsNotFound(status)) {
          world_.loop->After(Milliseconds(50), SimLoop::kWorld, "cancels",
                             [this] { Cancel(); });
        }
      });
}

void ClusterOperators::Drain() {
  const auto node = std::next(world_.machine_of.begin(),
                              world_.loop->Below(world_.machine_of.size()));
  Ask(
      "drain", Milliseconds(400),
      [name = node->first](SimScheduler* scheduler, auto answer) {
        scheduler->Tell(NodeDrained{name, 0}, answer);
      },
      [this, machine = node->second,
       life = world_.loop->life(node->second)](const absl::Status& status) {
        // A lost answer says nothing.
        const bool refused =
            absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
        if (refused) return;
        if (world_.loop->life(machine) == life) {
          world_.draining[machine] = life;
        }
        if (status.ok()) ++world_.counts["drains"];
      });
}

void ClusterOperators::CutPower() {
  ++world_.counts["power cuts"];
  world_.loop->Tell(SimLoop::kWorld, [] { return "### power cut"; });
  std::vector<int> machines = world_.scheduler_machines;
  for (const auto& [name, machine] : world_.machine_of) {
    machines.push_back(machine);
  }
  for (int machine : machines) hooks_.crash(machine);
  for (int machine : machines) {
    world_.loop->After(world_.loop->Between(Milliseconds(1), Milliseconds(400)),
                       SimLoop::kWorld, "back",
                       [this, machine] { hooks_.start(machine); });
  }
}

}  // namespace seraph::testing
