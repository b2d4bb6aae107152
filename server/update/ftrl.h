// FTRL-Proximal, one learning rate per coordinate, with its own l1 and l2.
//
//   s = (sqrt(n + g^2) - sqrt(n)) / alpha;  z += g - s w;  n += g^2
//   w = 0 if |z| <= l1, else -(z - sign(z) l1) / (l2 + (beta + sqrt(n)) /
//   alpha)
//
// Slots:  z, n. n starts at 0 and z such that it implies the row's first
//         weight, which needs l2 > 0 or beta > 0: without both, state before
//         the first gradient cannot hold a weight.
// Source: McMahan et al., "Ad Click Prediction: a View from the Trenches", KDD
//         2013, Algorithm 1.
// Differs: the paper computes w when it is read, we store it at each step: the
//         same values.
// The schedule has no effect: alpha / (beta + sqrt(n)) is the learning rate.
#ifndef SERAPH_SERVER_UPDATE_FTRL_H_
#define SERAPH_SERVER_UPDATE_FTRL_H_

#include <cstdint>
#include <memory>

#include "common/table/table_spec.h"
#include "server/update/update_rule.h"

namespace seraph {

// Requires: ValidateOptimizer(optimizer) is OK, of one of the kinds above;
// width > 0.
std::unique_ptr<const UpdateRule> MakeFtrl(const OptimizerSpec& optimizer,
                                           uint32_t width);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_FTRL_H_
