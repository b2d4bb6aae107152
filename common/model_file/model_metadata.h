// What a model file says about its model besides the rows.
#ifndef SERAPH_COMMON_MODEL_FILE_MODEL_METADATA_H_
#define SERAPH_COMMON_MODEL_FILE_MODEL_METADATA_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/data_options.h"
#include "common/dataset/label_map.h"
#include "common/model/model_spec.h"

namespace seraph {

// Everything needed to predict with the model.
struct ModelMetadata {
  // softmax has its classes, found in the data where the job did not say.
  ModelSpec model;

  // Which labels of a data file are which classes.
  LabelMap labels;

  // How the training data was read: the defaults for the data to predict.
  DataFormat data_format = DataFormat::kLibsvm;
  DataOptions data_options;

  std::string job_id;
  std::string job_name;
  std::string seraph_version;

  friend bool operator==(const ModelMetadata&, const ModelMetadata&) = default;
};

// The JSON document of docs/model-format.md, on one line.
std::string ModelMetadataToJson(const ModelMetadata& metadata);

// Keys that this version does not know are ignored.
// Errors: InvalidArgument naming the key that is missing or wrong.
absl::StatusOr<ModelMetadata> ModelMetadataFromJson(absl::string_view json);

}  // namespace seraph

#endif  // SERAPH_COMMON_MODEL_FILE_MODEL_METADATA_H_
