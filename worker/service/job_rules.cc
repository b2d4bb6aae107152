#include "worker/service/job_rules.h"

namespace seraph {

RecordRules RulesOf(const JobSpec& spec) {
  return {.format = spec.data.format,
          .options = spec.data.options,
          .dense_keys = spec.model.keys,
          .text_labels = TaskOf(spec.model.kind) != TaskKind::kRegression,
          .labels_optional = false,
          .validation_fraction = spec.data.validation_fraction,
          .seed = spec.seed};
}

}  // namespace seraph
