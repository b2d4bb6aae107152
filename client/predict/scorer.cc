#include "client/predict/scorer.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status/status_macros.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<Scorer>> Scorer::Create(
    const LoadedModel* loaded) {
  std::unique_ptr<Model> model = MakeModel(loaded->metadata.model);
  std::vector<const LoadedTable*> tables;
  for (const ModelTable& wanted : model->tables()) {
    const LoadedTable* table = loaded->FindTable(wanted.name);
    if (table == nullptr || table->header.width != wanted.width ||
        table->header.kind != wanted.kind) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the model file has no table '", wanted.name, "' of ",
          wanted.kind == TableKind::kDense ? "dense" : "sparse",
          " rows of width ", wanted.width, ", as a ",
          ModelKindName(loaded->metadata.model.kind), " needs it"));
    }
    tables.push_back(table);
  }
  return absl::WrapUnique(new Scorer(std::move(model), std::move(tables)));
}

Scorer::Scorer(std::unique_ptr<Model> model,
               std::vector<const LoadedTable*> tables)
    : model_(std::move(model)),
      tables_(std::move(tables)),
      rows_(tables_.size()) {}

absl::Status Scorer::Score(const Batch& batch, std::vector<double>* scores) {
  SERAPH_RETURN_IF_ERROR(model_->Prepare(batch, &keys_));
  std::vector<absl::Span<const float>> views;
  for (size_t i = 0; i < tables_.size(); ++i) {
    rows_[i].resize(keys_.tables[i].size() * tables_[i]->header.width);
    tables_[i]->Gather(keys_.tables[i], absl::MakeSpan(rows_[i]));
    views.push_back(rows_[i]);
  }
  return model_->Score(batch, keys_, views, scores);
}

}  // namespace seraph
