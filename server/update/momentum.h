// Gradient descent with momentum: heavy-ball and Nesterov's.
//
//   v = mu v + g;  momentum: w -= eta v;  nesterov: w -= eta (g + mu v)
//
// Slots:  v, from 0.
// Source: Polyak, 1964; Nesterov's in the form of Sutskever, Martens, Dahl and
//         Hinton, "On the Importance of Initialization and Momentum in Deep
//         Learning", ICML 2013, with the look-ahead folded into the weight.
// l1:     step size eta.
#ifndef SERAPH_SERVER_UPDATE_MOMENTUM_H_
#define SERAPH_SERVER_UPDATE_MOMENTUM_H_

#include <cstdint>
#include <memory>

#include "common/table/table_spec.h"
#include "server/update/update_rule.h"

namespace seraph {

// Requires: ValidateOptimizer(optimizer) is OK, of one of the kinds above;
// width > 0.
std::unique_ptr<const UpdateRule> MakeMomentum(const OptimizerSpec& optimizer,
                                               uint32_t width);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_MOMENTUM_H_
