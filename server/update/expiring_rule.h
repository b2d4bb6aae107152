// Rows that know when they were pushed last.
#ifndef SERAPH_SERVER_UPDATE_EXPIRING_RULE_H_
#define SERAPH_SERVER_UPDATE_EXPIRING_RULE_H_

#include <cstdint>
#include <memory>

#include "server/update/update_rule.h"

namespace seraph {

// `rule` with one more cell at a row's end, a uint32 whose bits lie in a float
// cell: the greatest epoch of the steps that the row has had (0 before).
std::unique_ptr<const UpdateRule> MakeExpiringRule(
    std::unique_ptr<const UpdateRule> rule);

// The epoch in a row of such a rule.
uint32_t EpochOfRow(const float* row, uint32_t row_cells);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_EXPIRING_RULE_H_
