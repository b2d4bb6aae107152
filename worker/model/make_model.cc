#include "worker/model/linear_model.h"
#include "worker/model/model.h"
#include "worker/model/softmax_model.h"

namespace seraph {

std::unique_ptr<Model> MakeModel(const ModelSpec& spec) {
  switch (spec.kind) {
    case ModelKind::kLinearRegression:
    case ModelKind::kLogisticRegression:
    case ModelKind::kSvm:
      return std::make_unique<LinearModel>(spec);
    case ModelKind::kSoftmax:
      return std::make_unique<SoftmaxModel>(spec);
  }
  return nullptr;
}

}  // namespace seraph
