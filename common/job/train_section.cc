#include "common/job/train_section.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/scalars.h"
#include "common/job/optimizer_keys.h"
#include "common/metrics/metric_sums.h"

namespace seraph {
namespace {

constexpr std::pair<ScheduleKind, absl::string_view> kSchedules[] = {
    {ScheduleKind::kConstant, "constant"},
    {ScheduleKind::kInverseSquareRoot, "inverse_square_root"},
    {ScheduleKind::kExponential, "exponential"},
    {ScheduleKind::kStep, "step"},
    {ScheduleKind::kCosine, "cosine"},
};

constexpr std::pair<NonFiniteAction, absl::string_view> kNonFiniteActions[] = {
    {NonFiniteAction::kFail, "fail"},
    {NonFiniteAction::kSkip, "skip"},
};

// "0.1 (sgd, adagrad), 1 (adadelta)", or the value alone if it is one.
std::string DefaultsByKind(OptimizerKey key, double OptimizerSpec::*field) {
  std::vector<std::pair<double, std::string>> groups;
  for (const auto& [kind, name] : OptimizerKinds()) {
    if (!UsesKey(kind, key)) continue;
    const double value = DefaultOptimizer(kind).*field;
    const auto group =
        std::find_if(groups.begin(), groups.end(),
                     [&](const auto& g) { return g.first == value; });
    if (group == groups.end()) {
      groups.emplace_back(value, std::string(name));
    } else {
      absl::StrAppend(&group->second, ", ", name);
    }
  }
  if (groups.size() == 1) return WriteNumber(groups[0].first);
  return absl::StrJoin(groups, ", ", [](std::string* out, const auto& group) {
    absl::StrAppend(out, WriteNumber(group.first), " (", group.second, ")");
  });
}

// sgd and adamw scale a weight that is not pushed by 1 - eta * decay.
void CheckDecay(Section& section, absl::string_view key, double learning_rate,
                double decay) {
  if (learning_rate * decay >= 1) {
    section.Complain(
        key, absl::StrCat("times learning_rate (", WriteNumber(learning_rate),
                          ") is not below 1: a step would turn the sign of "
                          "every weight"));
  }
}

void VisitOptimizer(Section& section, OptimizerSpec* optimizer,
                    double* clip_norm) {
  const bool kind_read =
      section.Key("kind", "The rule by which a push changes a weight.")
          .BindChoice<OptimizerKind>(&optimizer->kind, OptimizerKinds());
  if (kind_read) *optimizer = DefaultOptimizer(optimizer->kind);
  // Of a kind that nobody knows no key can be called unused.
  const bool kind_known = !section.Failed("kind");

  const auto key = [&](absl::string_view name, OptimizerKey key,
                       absl::string_view doc) {
    return section.Key(name, doc).OnlyIf(
        !kind_known || UsesKey(optimizer->kind, key),
        absl::StrCat("the optimizer '", OptimizerKindName(optimizer->kind),
                     "'"));
  };
  const auto by_kind = [&](absl::string_view name, OptimizerKey id,
                           double OptimizerSpec::*field,
                           absl::string_view doc) {
    return key(name, id, doc).DefaultText(DefaultsByKind(id, field));
  };
  by_kind("learning_rate", OptimizerKey::kLearningRate,
          &OptimizerSpec::learning_rate,
          "Size of a step (eta), before the schedule.")
      .Above(0)
      .Bind(&optimizer->learning_rate);
  by_kind("momentum", OptimizerKey::kMomentum, &OptimizerSpec::momentum,
          "Part of the last step that is kept (mu).")
      .AtLeast(0)
      .Below(1)
      .Bind(&optimizer->momentum);
  by_kind("rho", OptimizerKey::kRho, &OptimizerSpec::rho,
          "Decay of the moving averages.")
      .AtLeast(0)
      .Below(1)
      .Bind(&optimizer->rho);
  by_kind("epsilon", OptimizerKey::kEpsilon, &OptimizerSpec::epsilon,
          "Added where a division by 0 could be.")
      .AtLeast(0)
      .Bind(&optimizer->epsilon);
  by_kind("beta1", OptimizerKey::kBeta1, &OptimizerSpec::beta1,
          "Decay of the gradient's moving average.")
      .AtLeast(0)
      .Below(1)
      .Bind(&optimizer->beta1);
  by_kind("beta2", OptimizerKey::kBeta2, &OptimizerSpec::beta2,
          "Decay of the squared gradient's moving average.")
      .AtLeast(0)
      .Below(1)
      .Bind(&optimizer->beta2);
  by_kind("weight_decay", OptimizerKey::kWeightDecay,
          &OptimizerSpec::weight_decay,
          "Decoupled decay of the weights (lambda); times learning_rate it "
          "must be below 1.")
      .AtLeast(0)
      .Bind(&optimizer->weight_decay);
  by_kind("alpha", OptimizerKey::kAlpha, &OptimizerSpec::alpha,
          "Scale of ftrl's learning rate.")
      .Above(0)
      .Bind(&optimizer->alpha);
  by_kind("beta", OptimizerKey::kBeta, &OptimizerSpec::beta,
          "Smoothing of ftrl's learning rate.")
      .AtLeast(0)
      .Bind(&optimizer->beta);
  key("l1", OptimizerKey::kL1,
      "Strength of the L1 term, per example with combine: mean.")
      .AtLeast(0)
      .Bind(&optimizer->l1);
  key("l2", OptimizerKey::kL2,
      "Strength of the L2 term, per example with combine: mean. Of sgd, times "
      "learning_rate it must be below 1.")
      .AtLeast(0)
      .Bind(&optimizer->l2);
  key("clip_value", OptimizerKey::kClipValue,
      "Each value of the combined gradient is cut to [-clip_value, "
      "clip_value]. 0: it is not.")
      .AtLeast(0)
      .Bind(&optimizer->clip_value);
  key("clip_norm", OptimizerKey::kClipNorm,
      "A rank's gradient over all tables is scaled down to this norm, before "
      "the push. 0: it is not.")
      .AtLeast(0)
      .Bind(clip_norm);
  if (!kind_known) return;
  if (optimizer->kind == OptimizerKind::kSgd) {
    CheckDecay(section, "l2", optimizer->learning_rate, optimizer->l2);
  }
  if (optimizer->kind == OptimizerKind::kAdamw) {
    CheckDecay(section, "weight_decay", optimizer->learning_rate,
               optimizer->weight_decay);
  }
}

void VisitSchedule(Section& section, ScheduleSpec* schedule) {
  section.Key("kind", "How the learning rate changes with the clock.")
      .BindChoice<ScheduleKind>(&schedule->kind, kSchedules);
  const bool kind_known = !section.Failed("kind");
  const ScheduleKind kind = schedule->kind;
  const auto key = [&](absl::string_view name,
                       std::initializer_list<ScheduleKind> users,
                       absl::string_view doc) {
    absl::string_view kind_name;
    for (const auto& [known, text] : kSchedules) {
      if (known == kind) kind_name = text;
    }
    return section.Key(name, doc).OnlyIf(
        !kind_known ||
            std::find(users.begin(), users.end(), kind) != users.end(),
        absl::StrCat("the schedule '", kind_name, "'"));
  };
  key("decay_rate", {ScheduleKind::kExponential, ScheduleKind::kStep},
      "exponential, step: the factor that decay_steps clocks bring.")
      .Above(0)
      .AtMost(1)
      .Bind(&schedule->decay_rate);
  key("decay_steps",
      {ScheduleKind::kInverseSquareRoot, ScheduleKind::kExponential,
       ScheduleKind::kStep},
      "inverse_square_root, exponential, step: the time scale, in clocks. 0: "
      "one epoch.")
      .Bind(&schedule->decay_steps);
  key("total_steps", {ScheduleKind::kCosine},
      "cosine: clocks until min_factor is reached. 0: all of the job.")
      .Bind(&schedule->total_steps);
  key("min_factor", {ScheduleKind::kCosine},
      "cosine: the last value of the learning rate's factor.")
      .Between(0, 1)
      .Bind(&schedule->min_factor);
  section
      .Key("warmup_steps",
           "Clocks of a linear rise from 0, in front of any schedule.")
      .Bind(&schedule->warmup_steps);
}

// Every metric of any model, once.
std::vector<std::pair<absl::string_view, absl::string_view>> AllMetrics() {
  std::vector<std::pair<absl::string_view, absl::string_view>> metrics;
  for (const absl::string_view kind : ModelKindNames()) {
    for (const absl::string_view name : MetricNames(*ParseModelKind(kind))) {
      const std::pair entry(name, name);
      if (std::find(metrics.begin(), metrics.end(), entry) == metrics.end()) {
        metrics.push_back(entry);
      }
    }
  }
  return metrics;
}

void VisitStop(Section& section, const ModelSpec& model, bool model_known,
               StopSpec* stop) {
  const std::vector<absl::string_view> fitting = MetricNames(model.kind);
  // A new StopSpec names none.
  const std::string start =
      stop->metric.empty() ? std::string(fitting.front()) : stop->metric;
  absl::string_view metric = start;
  section
      .Key("metric",
           "What is watched on the validation data, once an epoch: one that "
           "the model reports.")
      .DefaultText("the first that the model reports")
      .BindChoice<absl::string_view>(&metric, AllMetrics());
  if (model_known &&
      std::find(fitting.begin(), fitting.end(), metric) == fitting.end()) {
    section.Complain("metric",
                     absl::StrCat("'", metric, "' is not a metric of ",
                                  ModelKindName(model.kind), ", which has ",
                                  absl::StrJoin(fitting, ", ")));
  }
  stop->metric = std::string(metric);
  section
      .Key("patience",
           "Epochs on end without an improvement after which the job stops.")
      .Between(1, 1e6)
      .Bind(&stop->patience);
}

}  // namespace

absl::string_view NonFiniteActionName(NonFiniteAction action) {
  return action == NonFiniteAction::kFail ? "fail" : "skip";
}

void VisitTrain(Section& section, const ModelSpec& model, bool model_known,
                const DataSpec& data, TrainSpec* train) {
  section.Key("epochs", "Passes over the training data.")
      .Between(1, 1e6)
      .Bind(&train->epochs);
  section.Key("batch_size", "Examples per rank and clock.")
      .Between(1, 1 << 24)
      .Bind(&train->batch_size);
  section
      .Key("shuffle",
           "Whether each epoch reads the records in another order, which "
           "follows from the seed; if not, in that of the files.")
      .Bind(&train->shuffle);
  section
      .Key("on_non_finite",
           "A gradient or loss that is NaN or infinite stops the job, or its "
           "batch is left out and counted.")
      .BindChoice<NonFiniteAction>(&train->on_non_finite, kNonFiniteActions);
  section
      .Key("stall_timeout",
           "A rank that stands still for so long, while others wait for it, is "
           "given to another worker. 0s: it never is.")
      .Between(0, 7 * 24 * 3600)
      .Bind(&train->stall_timeout);
  section.Map("optimizer",
              "How a push changes the weights. A key that the kind does not "
              "use is an error.",
              [&](Section& s) {
                VisitOptimizer(s, &train->optimizer, &train->clip_norm);
              });
  section.Map("schedule", "The learning rate over time.",
              [&](Section& s) { VisitSchedule(s, &train->schedule); });
  section.OptionalMap<StopSpec>(
      "stop", "An early stop by the validation data. Absent: none.",
      &train->stop, [&](Section& s, StopSpec* stop) {
        VisitStop(s, model, model_known, stop);
      });
  if (train->stop.has_value() && !data.HasValidation()) {
    section.Complain("stop",
                     "needs data.validation or data.validation_fraction");
  }
}

}  // namespace seraph
