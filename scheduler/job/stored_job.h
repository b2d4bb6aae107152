// What of the jobs outlives the scheduler's process. Plain data;
// scheduler/store turns it into records.
#ifndef SERAPH_SCHEDULER_JOB_STORED_JOB_H_
#define SERAPH_SCHEDULER_JOB_STORED_JOB_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/cluster/node.h"
#include "scheduler/job/job_plan.h"
#include "scheduler/job/job_view.h"
#include "scheduler/job/order.h"
#include "scheduler/job/rank_roster.h"
#include "scheduler/membership/node_registry.h"
#include "scheduler/replicas/partition_map.h"

namespace seraph {

// A complete cut that a job can go back to.
struct Checkpoint {
  CutName name;
  uint64_t cut = 0;
  std::vector<Clock> clocks;  // By rank.
  absl::Time time;
  uint64_t bytes = 0;  // Written for it.

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// What was decided at an epoch's end, and the early stop's counters after it.
struct EpochDecision {
  absl::Duration seconds;
  MetricValues validation;
  bool stop = false;
  double best = 0;  // As EarlyStop has it.
  uint32_t epochs_without = 0;

  friend bool operator==(const EpochDecision& a, const EpochDecision& b) {
    return a.seconds == b.seconds && SameBits(a.validation, b.validation) &&
           a.stop == b.stop && a.best == b.best &&
           a.epochs_without == b.epochs_without;
  }
};

// What changes of a job. Small: beside it are the request and, once the data
// were read, the plan, which never change.
struct StoredJob {
  std::string id;
  uint64_t number = 0;  // Jobs are numbered in the order of their submission.
  uint64_t generation = 1;
  // Without what changes from moment to moment: how far the epoch or phase is.
  JobView view;
  uint64_t first_server = 0;  // PlacePartitions.
  std::string arithmetic;     // Of its nodes; "": not chosen yet, or any.
  bool output_proven = false;

  std::vector<Node> holders;  // Nodes that may hold something of it.
  std::vector<RankRecord> ranks;
  std::vector<PartitionRecord> partitions;  // Of this generation.

  std::optional<Checkpoint> origin;     // Of this generation; unset: the start.
  std::vector<Checkpoint> checkpoints;  // Kept ones, oldest first.
  uint64_t last_cut = 0;                // The highest number ever used.
  uint32_t times_back = 0;              // In a row without one further clock.

  std::vector<EpochDecision> decided;           // By epoch.
  std::vector<std::vector<double>> epoch_sums;  // MetricSums, by epoch.

  friend bool operator==(const StoredJob&, const StoredJob&) = default;
};

// To be stored, all at once, before the orders of the same outcome leave.
struct StoredChanges {
  // By job. New jobs have all but a plan; one that has ended has none any more:
  // null.
  std::map<std::string, std::shared_ptr<const JobRequest>> requests;
  std::map<std::string, std::shared_ptr<const JobPlan>> plans;
  std::map<std::string, StoredJob> jobs;
  std::vector<std::string> forgotten;
  std::optional<std::vector<KnownNode>> nodes;  // All of them.

  bool empty() const {
    return requests.empty() && plans.empty() && jobs.empty() &&
           forgotten.empty() && !nodes.has_value();
  }
};

// All that was stored.
struct StoredState {
  struct Job {
    std::shared_ptr<const JobRequest> request;
    std::shared_ptr<const JobPlan> plan;  // Null: not decided yet.
    StoredJob job;
  };
  std::vector<Job> jobs;  // By number.
  std::vector<KnownNode> nodes;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_STORED_JOB_H_
