// Adam, and AdamW with its decoupled decay.
//
//   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
//   mhat = m / (1 - beta1^t);     vhat = v / (1 - beta2^t)
//   adamw: w -= eta lambda w
//   w -= eta mhat / (sqrt(vhat) + eps)
//
// t counts the key's own steps, this one included.
//
// Slots:  m, v, from 0; and the row's t.
// Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR
//         2015; Loshchilov and Hutter, "Decoupled Weight Decay
//         Regularization", ICLR 2019.
// Lazy:   the decay acts on every row at every step of the partition; see
//         lazy_terms.h.
// l1:     step size eta / (sqrt(vhat) + eps). With eps = 0 a value that has
//         seen no gradient does not move.
#ifndef SERAPH_SERVER_UPDATE_ADAM_H_
#define SERAPH_SERVER_UPDATE_ADAM_H_

#include <cstdint>
#include <memory>

#include "common/table/table_spec.h"
#include "server/update/update_rule.h"

namespace seraph {

// Requires: ValidateOptimizer(optimizer) is OK, of one of the kinds above;
// width > 0.
std::unique_ptr<const UpdateRule> MakeAdam(const OptimizerSpec& optimizer,
                                           uint32_t width);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_ADAM_H_
