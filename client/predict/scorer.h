// Scores records with a model in memory.
#ifndef SERAPH_CLIENT_PREDICT_SCORER_H_
#define SERAPH_CLIENT_PREDICT_SCORER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/model_file/loaded_model.h"
#include "worker/data/batch.h"
#include "worker/model/batch_keys.h"
#include "worker/model/model.h"

namespace seraph {

// Threads: one at a time.
class Scorer {
 public:
  // `model` must outlive this.
  // Errors: InvalidArgument if its tables are not those of its kind.
  static absl::StatusOr<std::unique_ptr<Scorer>> Create(
      const LoadedModel* model);

  // The raw scores, [records * model().scores_per_example()]. A key that the
  // model has no row of counts nothing.
  // Errors: OutOfRange as Model::Prepare and Model::Score.
  absl::Status Score(const Batch& batch, std::vector<double>* scores);

  const Model& model() const { return *model_; }

 private:
  Scorer(std::unique_ptr<Model> model, std::vector<const LoadedTable*> tables);

  const std::unique_ptr<Model> model_;
  const std::vector<const LoadedTable*> tables_;  // By the model's index.
  BatchKeys keys_;
  std::vector<std::vector<float>> rows_;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_PREDICT_SCORER_H_
