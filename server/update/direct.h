// Tables that no gradient drives: counters, factors, assignments.
//
//   sum: w += g;  assign: w = g
//
// Slots:  none. The learning rate has no effect.
#ifndef SERAPH_SERVER_UPDATE_DIRECT_H_
#define SERAPH_SERVER_UPDATE_DIRECT_H_

#include <cstdint>
#include <memory>

#include "common/table/table_spec.h"
#include "server/update/update_rule.h"

namespace seraph {

// Requires: ValidateOptimizer(optimizer) is OK, of one of the kinds above;
// width > 0.
std::unique_ptr<const UpdateRule> MakeDirect(const OptimizerSpec& optimizer,
                                             uint32_t width);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_DIRECT_H_
