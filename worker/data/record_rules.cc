#include "worker/data/record_rules.h"

#include "common/base/draw.h"

namespace seraph {

RecordPart PartOf(const RecordRules& rules, uint32_t file, uint64_t offset) {
  if (rules.validation_fraction <= 0) return RecordPart::kTrain;
  static const uint64_t kStream = DrawLabel("validation");
  const double draw = ToUnit(Draw(rules.seed, {kStream, file, offset}));
  return draw < rules.validation_fraction ? RecordPart::kValidation
                                          : RecordPart::kTrain;
}

}  // namespace seraph
