// The jobs that simulated clusters run.
#ifndef SERAPH_TESTS_SIM_CLUSTER_JOB_H_
#define SERAPH_TESTS_SIM_CLUSTER_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/dataset/dataset_facts.h"
#include "common/job/job_spec.h"
#include "common/table/table_spec.h"
#include "scheduler/job/order.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/witness.h"
#include "worker/data/batch.h"

namespace seraph::testing {

// A job in every difficulty that a small one can have: a table of one key,
// partitions that some ranks or nobody touches, ranks of unequal length, more
// ranks than workers.
struct ClusterJob {
  JobSpec spec;
  std::vector<TableSpec> tables;  // As the scheduler will plan them.
  bool is_witness = false;

  WitnessJob witness;  // Of a witness job.

  // Of a real model: by rank, the same in every epoch.
  std::vector<Batch> train;
  std::vector<Batch> validation;

  // What the scheduler finds of its files.
  ResolvedFiles files;
  DatasetFacts Scanned(bool validation, uint32_t file_index) const;
  uint64_t train_records() const;

  std::string ToString() const;
  // Jobs of one key are the same job: what an undisturbed run of it gives can
  // be compared.
  std::string key;
};

// By draws of the loop.
ClusterJob ChooseJob(SimLoop* loop);

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_CLUSTER_JOB_H_
