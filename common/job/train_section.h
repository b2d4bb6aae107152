// The keys of `train` in a job file.
#ifndef SERAPH_COMMON_JOB_TRAIN_SECTION_H_
#define SERAPH_COMMON_JOB_TRAIN_SECTION_H_

#include "common/config/yaml_reader.h"
#include "common/job/job_spec.h"

namespace seraph {

// Requires: `model` and `data` are visited already, if badly: what may be
// watched for an early stop depends on them.
void VisitTrain(Section& section, const ModelSpec& model, const DataSpec& data,
                TrainSpec* train);

}  // namespace seraph

#endif  // SERAPH_COMMON_JOB_TRAIN_SECTION_H_
