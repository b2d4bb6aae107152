#include "common/job/optimizer_keys.h"

namespace seraph {
namespace {

constexpr std::pair<OptimizerKind, absl::string_view> kKinds[] = {
    {OptimizerKind::kSgd, "sgd"},
    {OptimizerKind::kMomentum, "momentum"},
    {OptimizerKind::kNesterov, "nesterov"},
    {OptimizerKind::kAdagrad, "adagrad"},
    {OptimizerKind::kRmsprop, "rmsprop"},
    {OptimizerKind::kAdadelta, "adadelta"},
    {OptimizerKind::kAdam, "adam"},
    {OptimizerKind::kAdamw, "adamw"},
    {OptimizerKind::kFtrl, "ftrl"},
    {OptimizerKind::kSum, "sum"},
    {OptimizerKind::kAssign, "assign"},
};

}  // namespace

absl::Span<const std::pair<OptimizerKind, absl::string_view>> OptimizerKinds() {
  return kKinds;
}

absl::string_view OptimizerKindName(OptimizerKind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "";
}

bool UsesKey(OptimizerKind kind, OptimizerKey key) {
  const auto one_of = [kind](std::initializer_list<OptimizerKind> kinds) {
    for (const OptimizerKind candidate : kinds) {
      if (candidate == kind) return true;
    }
    return false;
  };
  using K = OptimizerKind;
  const bool follows_gradient = !one_of({K::kSum, K::kAssign});
  switch (key) {
    case OptimizerKey::kLearningRate:
      return follows_gradient && kind != K::kFtrl;
    case OptimizerKey::kMomentum:
      return one_of({K::kMomentum, K::kNesterov});
    case OptimizerKey::kRho:
      return one_of({K::kRmsprop, K::kAdadelta});
    case OptimizerKey::kEpsilon:
      return one_of(
          {K::kAdagrad, K::kRmsprop, K::kAdadelta, K::kAdam, K::kAdamw});
    case OptimizerKey::kBeta1:
    case OptimizerKey::kBeta2:
      return one_of({K::kAdam, K::kAdamw});
    case OptimizerKey::kWeightDecay:
      return kind == K::kAdamw;
    case OptimizerKey::kAlpha:
    case OptimizerKey::kBeta:
      return kind == K::kFtrl;
    case OptimizerKey::kL1:
    case OptimizerKey::kL2:
    case OptimizerKey::kClipValue:
    case OptimizerKey::kClipNorm:
      return follows_gradient;
  }
  return false;
}

OptimizerSpec DefaultOptimizer(OptimizerKind kind) {
  OptimizerSpec spec;
  spec.kind = kind;
  switch (kind) {
    case OptimizerKind::kAdagrad:
      spec.epsilon = 1e-10;
      break;
    case OptimizerKind::kRmsprop:
      spec.learning_rate = 0.01;
      spec.rho = 0.9;
      spec.epsilon = 1e-8;
      break;
    case OptimizerKind::kAdadelta:
      spec.learning_rate = 1.0;
      spec.rho = 0.95;
      spec.epsilon = 1e-6;
      break;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
      spec.learning_rate = 0.001;
      spec.epsilon = 1e-8;
      break;
    case OptimizerKind::kSgd:
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov:
    case OptimizerKind::kFtrl:
    case OptimizerKind::kSum:
    case OptimizerKind::kAssign:
      break;
  }
  return spec;
}

}  // namespace seraph
