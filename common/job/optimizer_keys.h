// Which keys of `train.optimizer` a kind uses, and their defaults.
#ifndef SERAPH_COMMON_JOB_OPTIMIZER_KEYS_H_
#define SERAPH_COMMON_JOB_OPTIMIZER_KEYS_H_

#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/table/table_spec.h"

namespace seraph {

enum class OptimizerKey {
  kLearningRate,
  kMomentum,
  kRho,
  kEpsilon,
  kBeta1,
  kBeta2,
  kWeightDecay,
  kAlpha,
  kBeta,
  kL1,
  kL2,
  kClipValue,
  kClipNorm,
};

// Every kind with its name in job files.
absl::Span<const std::pair<OptimizerKind, absl::string_view>> OptimizerKinds();

absl::string_view OptimizerKindName(OptimizerKind kind);

bool UsesKey(OptimizerKind kind, OptimizerKey key);

// The defaults of docs/algorithms.md for `kind`; where the papers name a
// learning rate, theirs. Fields that the kind does not use are as in
// OptimizerSpec.
OptimizerSpec DefaultOptimizer(OptimizerKind kind);

}  // namespace seraph

#endif  // SERAPH_COMMON_JOB_OPTIMIZER_KEYS_H_
