// AdaDelta, with a learning rate.
//
//   n = rho n + (1 - rho) g^2
//   D = sqrt(d + eps) / sqrt(n + eps) g
//   w -= eta D
//   d = rho d + (1 - rho) D^2
//
// Slots:  n, d, from 0.
// Source: Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012,
//         Algorithm 1, which is eta = 1.
// l1:     step size eta sqrt(d + eps) / sqrt(n + eps), with the new n and the
//         old d. With eps = 0 nothing ever moves.
#ifndef SERAPH_SERVER_UPDATE_ADADELTA_H_
#define SERAPH_SERVER_UPDATE_ADADELTA_H_

#include <cstdint>
#include <memory>

#include "common/table/table_spec.h"
#include "server/update/update_rule.h"

namespace seraph {

// Requires: ValidateOptimizer(optimizer) is OK, of one of the kinds above;
// width > 0.
std::unique_ptr<const UpdateRule> MakeAdadelta(const OptimizerSpec& optimizer,
                                               uint32_t width);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_ADADELTA_H_
