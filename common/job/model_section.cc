#include "common/job/model_section.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/table/table_validation.h"

namespace seraph {
namespace {

constexpr absl::string_view kPlannedKinds[] = {"fm", "ffm", "wide_deep",
                                               "deepfm", "mlp"};

std::vector<std::pair<ModelKind, absl::string_view>> Kinds() {
  std::vector<std::pair<ModelKind, absl::string_view>> kinds;
  for (const absl::string_view name : ModelKindNames()) {
    kinds.emplace_back(*ParseModelKind(name), name);
  }
  return kinds;
}

// Every loss of any kind.
std::vector<std::pair<LossKind, absl::string_view>> Losses() {
  std::vector<std::pair<LossKind, absl::string_view>> losses;
  for (const auto& [kind, name] : Kinds()) {
    for (const LossKind loss : LossesOf(kind)) {
      losses.emplace_back(loss, LossKindName(loss));
    }
  }
  return losses;
}

constexpr BiasKind kBiases[] = {BiasKind::kFree, BiasKind::kRegularized,
                                BiasKind::kNone};

void VisitLoss(Section& section, bool kind_known, ModelSpec* model) {
  const bool has_huber = model->kind == ModelKind::kLinearRegression;
  LossKind loss = LossOf(*model);
  section
      .Key("loss",
           "linear_regression: squared or huber; svm: hinge or squared_hinge. "
           "The others have one.")
      .DefaultText("the kind's first; huber if huber_delta is given")
      .BindChoice<LossKind>(&loss, Losses());
  if (!section.Given("loss") && section.Given("huber_delta") && has_huber) {
    loss = LossKind::kHuber;
  }
  const bool loss_known = kind_known && !section.Failed("loss");
  const std::vector<LossKind> fitting = LossesOf(model->kind);
  if (loss_known &&
      std::find(fitting.begin(), fitting.end(), loss) == fitting.end()) {
    section.Complain(
        "loss", absl::StrCat("'", LossKindName(loss), "' does not fit ",
                             ModelKindName(model->kind), ", which has ",
                             absl::StrJoin(fitting, " and ",
                                           [](std::string* out, LossKind kind) {
                                             absl::StrAppend(
                                                 out, LossKindName(kind));
                                           })));
  }
  model->loss = loss;
  section
      .Key("huber_delta",
           "huber: where the loss turns from a parabola to a line.")
      .Above(0)
      .OnlyIf(!loss_known || loss == LossKind::kHuber,
              absl::StrCat("the loss '", LossKindName(loss), "'"))
      .Bind(&model->huber_delta);
}

}  // namespace

bool VisitModel(Section& section, ModelSpec* model) {
  section.Key("kind", "The kind of model.")
      .Required()
      .Planned(kPlannedKinds)
      .BindChoice<ModelKind>(&model->kind, Kinds());
  const bool kind_known = !section.Failed("kind");
  section
      .Key("keys",
           "Number of features. Tables are then dense, with the keys 0 to "
           "keys - 1; else sparse, with any 64-bit keys.")
      .AtLeast(1)
      .DefaultText("none: sparse tables")
      .Bind(&model->keys);
  std::vector<std::pair<BiasKind, absl::string_view>> biases;
  for (const BiasKind bias : kBiases) {
    biases.emplace_back(bias, BiasKindName(bias));
  }
  section
      .Key("bias",
           "free: without l1, l2 and decay. regularized: like any other "
           "weight, as a feature of value 1. none: there is none.")
      .BindChoice<BiasKind>(&model->bias, biases);
  section
      .Key("classes", "softmax: labels are 0 to classes - 1, or 1 to classes.")
      .Between(2, kMaxTableWidth)
      .DefaultText("found in the data")
      .OnlyIf(!kind_known || model->kind == ModelKind::kSoftmax,
              ModelKindName(model->kind))
      .Bind(&model->classes);
  VisitLoss(section, kind_known, model);
  return kind_known;
}

}  // namespace seraph
