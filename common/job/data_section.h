// The keys of `data` in a job file.
#ifndef SERAPH_COMMON_JOB_DATA_SECTION_H_
#define SERAPH_COMMON_JOB_DATA_SECTION_H_

#include "common/config/yaml_reader.h"
#include "common/job/job_spec.h"

namespace seraph {

// Requires: `model` is visited already, if badly.
void VisitData(Section& section, const ModelSpec& model, DataSpec* data);

}  // namespace seraph

#endif  // SERAPH_COMMON_JOB_DATA_SECTION_H_
