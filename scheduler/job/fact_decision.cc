#include "scheduler/job/fact_decision.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/dataset/label_map.h"
#include "common/dataset/rank_plan.h"
#include "common/job/job_tables.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

absl::Status CheckKeys(const ModelSpec& model, const DatasetFacts& facts,
                       absl::string_view name) {
  if (!model.keys.has_value() || !facts.has_keys) return absl::OkStatus();
  if (facts.max_key < *model.keys) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "data.", name, " has feature ", facts.max_key, " (counted from 0), but ",
      "model.keys is ", *model.keys, "; raise model.keys to ",
      facts.max_key + 1, " or leave it out"));
}

absl::Status CheckRecords(const JobSpec& spec, const JobPlan& plan) {
  if (TrainRecords(plan.train) == 0) {
    const uint64_t bad = BadRecords(plan.train);
    return absl::InvalidArgumentError(absl::StrCat(
        "data.train has no record to train with",
        bad > 0 ? absl::StrCat("; ", bad, " could not be read") : ""));
  }
  if (plan.validation.has_value() && TrainRecords(*plan.validation) == 0) {
    return absl::InvalidArgumentError("data.validation has no record");
  }
  if (spec.data.validation_fraction > 0 && ValidationRecords(plan.train) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.validation_fraction ", spec.data.validation_fraction, " of ",
        TrainRecords(plan.train), " records sets none apart; raise it"));
  }
  return absl::OkStatus();
}

// The labels of the model that the job starts from, if the data have no other.
absl::StatusOr<LabelMap> LabelsOfInit(
    const JobSpec& spec, const ModelMetadata& init,
    absl::Span<const DatasetFacts* const> data_sets) {
  if (init.model.kind != spec.model.kind) {
    return absl::InvalidArgumentError(absl::StrCat(
        "init.model: ", spec.init_model, " is a ",
        ModelKindName(init.model.kind), ", but model.kind is ",
        ModelKindName(spec.model.kind), "; start from a model of this kind"));
  }
  if (spec.model.classes.has_value() &&
      init.labels.classes != *spec.model.classes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "init.model: ", spec.init_model, " has ", init.labels.classes,
        " classes, but model.classes is ", *spec.model.classes));
  }
  for (const DatasetFacts* facts : data_sets) {
    for (const SeenLabel& label : facts->labels) {
      const absl::StatusOr<double> known =
          label.text.empty() ? init.labels.Map(label.value)
                             : init.labels.MapText(label.text);
      if (known.ok()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          facts->files[label.file].data.path, ":", label.line,
          ": the model that the job starts from (init.model) does not know "
          "this label: ",
          known.status().message()));
    }
  }
  return init.labels;
}

}  // namespace

absl::StatusOr<JobPlan> DecideFacts(JobRef job, const JobRequest& request,
                                    uint32_t default_partitions,
                                    ScannedData data) {
  JobPlan plan;
  plan.job = std::move(job);
  plan.spec = request.spec;
  plan.base_directory = request.base_directory;
  SERAPH_ASSIGN_OR_RETURN(plan.train, MergeFacts(std::move(data.train_files),
                                                 std::move(data.train_parts)));
  std::vector<const DatasetFacts*> data_sets = {&plan.train};
  if (!data.validation_files.empty()) {
    SERAPH_ASSIGN_OR_RETURN(plan.validation,
                            MergeFacts(std::move(data.validation_files),
                                       std::move(data.validation_parts)));
    SERAPH_RETURN_IF_ERROR(CheckSameColumns(plan.train, *plan.validation));
    SERAPH_RETURN_IF_ERROR(
        CheckKeys(plan.spec.model, *plan.validation, "validation"));
    data_sets.push_back(&*plan.validation);
  }
  SERAPH_RETURN_IF_ERROR(CheckKeys(plan.spec.model, plan.train, "train"));
  SERAPH_RETURN_IF_ERROR(CheckRecords(plan.spec, plan));

  ModelSpec& model = plan.spec.model;
  const TaskKind task = TaskOf(model.kind);
  if (data.init.has_value()) {
    SERAPH_ASSIGN_OR_RETURN(plan.labels,
                            LabelsOfInit(plan.spec, *data.init, data_sets));
  } else {
    SERAPH_ASSIGN_OR_RETURN(
        plan.labels, DecideLabels(task, model.classes.value_or(0), data_sets));
  }
  std::optional<uint32_t> classes;
  if (task == TaskKind::kMulticlass) classes = plan.labels.classes;
  SERAPH_ASSIGN_OR_RETURN(plan.tables,
                          JobTables(plan.spec, classes, default_partitions));
  if (classes.has_value() && !model.classes.has_value()) {
    model.classes = classes;
  }
  plan.yaml = ToYaml(plan.spec);
  plan.steps_per_epoch = StepsPerEpoch(
      TrainRecords(plan.train), plan.spec.ranks, plan.spec.train.batch_size);
  plan.epoch_barrier = HasEpochBarrier(plan.spec);
  return plan;
}

bool HasEpochBarrier(const JobSpec& spec) {
  return spec.sync.mode != SyncMode::kAsp || spec.data.HasValidation() ||
         spec.train.stop.has_value() || spec.checkpoint.has_value();
}

std::vector<std::string> DataWarnings(const JobPlan& plan) {
  std::vector<std::string> warnings = Warnings(plan.train);
  if (plan.validation.has_value()) {
    for (const std::string& warning : Warnings(*plan.validation)) {
      warnings.push_back(absl::StrCat("validation: ", warning));
    }
  }
  return warnings;
}

}  // namespace seraph
