// How the files of a job are read.
#ifndef SERAPH_WORKER_SERVICE_JOB_RULES_H_
#define SERAPH_WORKER_SERVICE_JOB_RULES_H_

#include "common/job/job_spec.h"
#include "worker/data/record_rules.h"

namespace seraph {

// The rules of the training data. A data set of its own for validation has
// the same ones but for the validation fraction, which is 0.
RecordRules RulesOf(const JobSpec& spec);

}  // namespace seraph

#endif  // SERAPH_WORKER_SERVICE_JOB_RULES_H_
