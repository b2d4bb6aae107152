// A job of every difficulty that a small one can have.
#ifndef SERAPH_TESTS_SIM_SAMPLE_JOB_H_
#define SERAPH_TESTS_SIM_SAMPLE_JOB_H_

#include <cstdint>

#include "common/table/table_spec.h"
#include "tests/sim/training_sim.h"

namespace seraph::testing {

// A softmax model of three classes on five ranks of unequal length, one of them
// with a single record. Keys are skewed: on 7 and 64 partitions batches touch
// some of them, and some are touched and pulled by nobody. The bias is a table
// of one key.
SimJob MakeJob(OptimizerKind kind, TableKind table_kind, uint32_t partitions,
               bool scramble = false);

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SAMPLE_JOB_H_
