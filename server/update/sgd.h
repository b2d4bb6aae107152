// Stochastic gradient descent, with l2 and l1.
//
//   g += l2 w;  w -= eta g;  w = S(w, eta l1)
//
// Slots:  none.
// Lazy:   l2 and l1 act on every row at every step of the partition; see
//         lazy_terms.h.
#ifndef SERAPH_SERVER_UPDATE_SGD_H_
#define SERAPH_SERVER_UPDATE_SGD_H_

#include <cstdint>
#include <memory>

#include "common/table/table_spec.h"
#include "server/update/update_rule.h"

namespace seraph {

// Requires: ValidateOptimizer(optimizer) is OK, of one of the kinds above;
// width > 0.
std::unique_ptr<const UpdateRule> MakeSgd(const OptimizerSpec& optimizer,
                                          uint32_t width);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_SGD_H_
