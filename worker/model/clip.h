// Clips a rank's own gradient by its global norm, before the push.
//
// Source: Pascanu et al., "On the difficulty of training recurrent neural
// networks", ICML 2013, Algorithm 1: g *= max_norm / |g| when |g| > max_norm.
#ifndef SERAPH_WORKER_MODEL_CLIP_H_
#define SERAPH_WORKER_MODEL_CLIP_H_

#include <vector>

#include "worker/model/batch_keys.h"

namespace seraph {

// Scales all values by one factor so that their norm over all tables is at most
// `max_norm`, and returns the norm before. The squares are summed in double,
// tables in the order given (by name), keys ascending, so that the factor
// depends on the gradient alone and not on partitions.
//
// max_norm 0: no clipping; the norm is returned all the same.
// Requires: finite values.
double ClipByGlobalNorm(double max_norm, std::vector<TableGradient>* gradients);

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_CLIP_H_
