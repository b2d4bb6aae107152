#include "server/update/make_update_rule.h"

#include "common/status/status_macros.h"
#include "common/table/table_validation.h"
#include "server/update/adadelta.h"
#include "server/update/adagrad.h"
#include "server/update/adam.h"
#include "server/update/direct.h"
#include "server/update/ftrl.h"
#include "server/update/momentum.h"
#include "server/update/rmsprop.h"
#include "server/update/sgd.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<const UpdateRule>> MakeUpdateRule(
    const OptimizerSpec& optimizer, uint32_t width) {
  if (width == 0) return absl::InvalidArgumentError("width: must not be 0");
  SERAPH_RETURN_IF_ERROR(ValidateOptimizer(optimizer));
  switch (optimizer.kind) {
    case OptimizerKind::kSgd:
      return MakeSgd(optimizer, width);
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov:
      return MakeMomentum(optimizer, width);
    case OptimizerKind::kAdagrad:
      return MakeAdagrad(optimizer, width);
    case OptimizerKind::kRmsprop:
      return MakeRmsprop(optimizer, width);
    case OptimizerKind::kAdadelta:
      return MakeAdadelta(optimizer, width);
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
      return MakeAdam(optimizer, width);
    case OptimizerKind::kFtrl:
      return MakeFtrl(optimizer, width);
    case OptimizerKind::kSum:
    case OptimizerKind::kAssign:
      return MakeDirect(optimizer, width);
  }
  return absl::InvalidArgumentError("kind: not a known optimizer");
}

}  // namespace seraph
