// The keys of `model` in a job file.
#ifndef SERAPH_COMMON_JOB_MODEL_SECTION_H_
#define SERAPH_COMMON_JOB_MODEL_SECTION_H_

#include "common/config/yaml_reader.h"
#include "common/model/model_spec.h"

namespace seraph {

// Afterwards model->loss is set: a loss that was not given is the kind's first,
// or huber where huber_delta was given. False if the kind is missing or wrong:
// then nothing should be said of what depends on it.
bool VisitModel(Section& section, ModelSpec* model);

}  // namespace seraph

#endif  // SERAPH_COMMON_JOB_MODEL_SECTION_H_
