// AdaGrad.
//
//   n += g^2;  w -= eta g / (sqrt(n) + eps)
//
// Slots:  n, from 0.
// Source: Duchi, Hazan and Singer, "Adaptive Subgradient Methods", JMLR 2011,
//         the diagonal form.
// l1:     step size eta / (sqrt(n) + eps), with the new n: the composite mirror
//         descent update of the paper. With eps = 0 a value that has seen no
//         gradient does not move.
#ifndef SERAPH_SERVER_UPDATE_ADAGRAD_H_
#define SERAPH_SERVER_UPDATE_ADAGRAD_H_

#include <cstdint>
#include <memory>

#include "common/table/table_spec.h"
#include "server/update/update_rule.h"

namespace seraph {

// Requires: ValidateOptimizer(optimizer) is OK, of one of the kinds above;
// width > 0.
std::unique_ptr<const UpdateRule> MakeAdagrad(const OptimizerSpec& optimizer,
                                              uint32_t width);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_ADAGRAD_H_
