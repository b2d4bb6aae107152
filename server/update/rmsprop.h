// RMSProp.
//
//   n = rho n + (1 - rho) g^2;  w -= eta g / (sqrt(n) + eps)
//
// Slots:  n, from 0.
// Source: Tieleman and Hinton, Coursera lecture 6.5, 2012.
// l1:     step size eta / (sqrt(n) + eps), with the new n. With eps = 0 a value
//         that has seen no gradient does not move.
#ifndef SERAPH_SERVER_UPDATE_RMSPROP_H_
#define SERAPH_SERVER_UPDATE_RMSPROP_H_

#include <cstdint>
#include <memory>

#include "common/table/table_spec.h"
#include "server/update/update_rule.h"

namespace seraph {

// Requires: ValidateOptimizer(optimizer) is OK, of one of the kinds above;
// width > 0.
std::unique_ptr<const UpdateRule> MakeRmsprop(const OptimizerSpec& optimizer,
                                              uint32_t width);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_RMSPROP_H_
