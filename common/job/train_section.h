// The keys of `train` in a job file.
#ifndef SERAPH_COMMON_JOB_TRAIN_SECTION_H_
#define SERAPH_COMMON_JOB_TRAIN_SECTION_H_

#include "common/config/yaml_reader.h"
#include "common/job/job_spec.h"

namespace seraph {

// What may be watched for an early stop depends on model and data, which are
// visited already. `model_known`: the model's kind is what the file says.
void VisitTrain(Section& section, const ModelSpec& model, bool model_known,
                const DataSpec& data, TrainSpec* train);

}  // namespace seraph

#endif  // SERAPH_COMMON_JOB_TRAIN_SECTION_H_
