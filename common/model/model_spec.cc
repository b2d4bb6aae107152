#include "common/model/model_spec.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {
namespace {

template <typename Kind>
using Names = std::vector<std::pair<Kind, absl::string_view>>;

const Names<ModelKind>& ModelNames() {
  static const auto* const names = new Names<ModelKind>{
      {ModelKind::kLinearRegression, "linear_regression"},
      {ModelKind::kLogisticRegression, "logistic_regression"},
      {ModelKind::kSvm, "svm"},
      {ModelKind::kSoftmax, "softmax"},
  };
  return *names;
}

const Names<LossKind>& LossNames() {
  static const auto* const names = new Names<LossKind>{
      {LossKind::kSquared, "squared"},
      {LossKind::kHuber, "huber"},
      {LossKind::kLog, "log"},
      {LossKind::kHinge, "hinge"},
      {LossKind::kSquaredHinge, "squared_hinge"},
      {LossKind::kCrossEntropy, "cross_entropy"},
  };
  return *names;
}

const Names<BiasKind>& BiasNames() {
  static const auto* const names = new Names<BiasKind>{
      {BiasKind::kFree, "free"},
      {BiasKind::kRegularized, "regularized"},
      {BiasKind::kNone, "none"},
  };
  return *names;
}

template <typename Kind>
absl::string_view NameOf(const Names<Kind>& names, Kind kind) {
  for (const auto& [value, name] : names) {
    if (value == kind) return name;
  }
  return "unknown";
}

template <typename Kind>
std::optional<Kind> KindOf(const Names<Kind>& names, absl::string_view name) {
  for (const auto& [value, known] : names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace

LossKind LossOf(const ModelSpec& spec) {
  return spec.loss.value_or(LossesOf(spec.kind).front());
}

TaskKind TaskOf(ModelKind kind) {
  switch (kind) {
    case ModelKind::kLinearRegression:
      return TaskKind::kRegression;
    case ModelKind::kLogisticRegression:
    case ModelKind::kSvm:
      return TaskKind::kBinary;
    case ModelKind::kSoftmax:
      return TaskKind::kMulticlass;
  }
  return TaskKind::kRegression;
}

std::vector<LossKind> LossesOf(ModelKind kind) {
  switch (kind) {
    case ModelKind::kLinearRegression:
      return {LossKind::kSquared, LossKind::kHuber};
    case ModelKind::kLogisticRegression:
      return {LossKind::kLog};
    case ModelKind::kSvm:
      return {LossKind::kHinge, LossKind::kSquaredHinge};
    case ModelKind::kSoftmax:
      return {LossKind::kCrossEntropy};
  }
  return {};
}

absl::Status ValidateModelSpec(const ModelSpec& spec) {
  std::vector<std::string> bad;
  if (spec.keys == 0u) bad.push_back("keys: must be >= 1");
  if (spec.classes.has_value()) {
    if (spec.kind != ModelKind::kSoftmax) {
      bad.push_back(
          absl::StrCat("classes: not used by ", ModelKindName(spec.kind)));
    } else if (*spec.classes < 2) {
      bad.push_back("classes: must be >= 2");
    }
  }
  if (spec.loss.has_value()) {
    const std::vector<LossKind> losses = LossesOf(spec.kind);
    if (std::find(losses.begin(), losses.end(), *spec.loss) == losses.end()) {
      std::vector<absl::string_view> names;
      for (LossKind loss : losses) names.push_back(LossKindName(loss));
      bad.push_back(absl::StrCat("loss: ", LossKindName(*spec.loss),
                                 " does not fit ", ModelKindName(spec.kind),
                                 ", which has ",
                                 absl::StrJoin(names, " and ")));
    }
  }
  if (!(spec.huber_delta > 0.0) || !std::isfinite(spec.huber_delta)) {
    bad.push_back(absl::StrCat("huber_delta: ", spec.huber_delta,
                               " is not a finite number > 0"));
  }
  if (bad.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(bad, "; "));
}

std::vector<ModelTable> ModelTables(const ModelSpec& spec) {
  const uint32_t width =
      spec.kind == ModelKind::kSoftmax ? spec.classes.value() : 1;
  std::vector<ModelTable> tables;
  if (spec.bias != BiasKind::kNone) {
    ModelTable& bias = tables.emplace_back();
    bias.name = "bias";
    bias.is_bias = true;
    bias.kind = TableKind::kDense;
    bias.keys = 1;
    bias.width = width;
  }
  ModelTable& weights = tables.emplace_back();
  weights.name = "weights";
  weights.kind = spec.keys.has_value() ? TableKind::kDense : TableKind::kSparse;
  weights.keys = spec.keys.value_or(0);
  weights.width = width;
  return tables;
}

absl::string_view ModelKindName(ModelKind kind) {
  return NameOf(ModelNames(), kind);
}
absl::string_view LossKindName(LossKind kind) {
  return NameOf(LossNames(), kind);
}
absl::string_view BiasKindName(BiasKind kind) {
  return NameOf(BiasNames(), kind);
}

std::optional<ModelKind> ParseModelKind(absl::string_view name) {
  return KindOf(ModelNames(), name);
}
std::optional<LossKind> ParseLossKind(absl::string_view name) {
  return KindOf(LossNames(), name);
}
std::optional<BiasKind> ParseBiasKind(absl::string_view name) {
  return KindOf(BiasNames(), name);
}

std::vector<absl::string_view> ModelKindNames() {
  std::vector<absl::string_view> names;
  for (const auto& [kind, name] : ModelNames()) names.push_back(name);
  return names;
}

}  // namespace seraph
