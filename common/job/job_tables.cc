#include "common/job/job_tables.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"
#include "common/table/table_validation.h"

namespace seraph {

absl::StatusOr<std::vector<TableSpec>> JobTables(
    const JobSpec& job, std::optional<uint32_t> classes,
    uint32_t default_partitions) {
  ModelSpec model = job.model;
  if (TaskOf(model.kind) == TaskKind::kMulticlass) {
    if (!model.classes.has_value()) model.classes = classes;
    if (!model.classes.has_value()) {
      return absl::FailedPreconditionError(
          "the number of classes is not known before the pass over the data");
    }
    if (classes.has_value() && *classes > *model.classes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the data has ", *classes, " classes, model.classes is ",
                       *model.classes));
    }
  }
  SERAPH_RETURN_IF_ERROR(ValidateModelSpec(model));

  std::vector<TableSpec> tables;
  for (ModelTable& part : ModelTables(model)) {
    TableSpec table;
    table.name = std::move(part.name);
    table.kind = part.kind;
    table.keys = part.keys;
    table.width = part.width;
    table.scramble = job.tables.scramble && part.kind == TableKind::kSparse;
    table.partitions = job.tables.partitions.value_or(default_partitions);
    table.seed = job.seed;
    table.transport = job.tables.transport;
    // A bias is in every example.
    if (part.kind == TableKind::kSparse && !part.is_bias) {
      table.admit_after = job.tables.admit_after;
      table.expire_after_epochs = job.tables.expire_after_epochs;
    }
    table.initializer = part.initializer;
    table.optimizer = job.train.optimizer;
    if (part.is_bias && model.bias == BiasKind::kFree) {
      table.optimizer.l1 = 0;
      table.optimizer.l2 = 0;
      table.optimizer.weight_decay = 0;
    }
    table.schedule = job.train.schedule;
    SERAPH_RETURN_IF_ERROR(ValidateTable(table));
    table.partitions = Partitioning(table).partitions();
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace seraph
