// From an optimizer's specification to its rule.
#ifndef SERAPH_SERVER_UPDATE_MAKE_UPDATE_RULE_H_
#define SERAPH_SERVER_UPDATE_MAKE_UPDATE_RULE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/table/table_spec.h"
#include "server/update/update_rule.h"

namespace seraph {

// The rule of `optimizer` for rows of `width` values.
//
// Errors: as ValidateOptimizer; InvalidArgument for width 0.
absl::StatusOr<std::unique_ptr<const UpdateRule>> MakeUpdateRule(
    const OptimizerSpec& optimizer, uint32_t width);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_MAKE_UPDATE_RULE_H_
