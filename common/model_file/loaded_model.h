// A model in memory, to look rows up.
#ifndef SERAPH_COMMON_MODEL_FILE_LOADED_MODEL_H_
#define SERAPH_COMMON_MODEL_FILE_LOADED_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/model_file/model_file_format.h"
#include "common/model_file/model_file_reader.h"
#include "common/model_file/model_metadata.h"

namespace seraph {

// Memory: 8 + 4 * width bytes a row.
struct LoadedTable {
  ModelTableHeader header;
  std::vector<Key> keys;      // [n], ascending.
  std::vector<float> values;  // [n * width], row-major.

  // Copies the rows of `wanted` (ascending) into `to`, [wanted * width]; a key
  // that the model has not gives zeros, the initial value of linear models.
  // Returns how many were there. Work: O(wanted * log n).
  size_t Gather(absl::Span<const Key> wanted, absl::Span<float> to) const;
};

struct LoadedModel {
  ModelMetadata metadata;
  std::vector<LoadedTable> tables;  // By name.
  std::string digest;

  // nullptr if there is none.
  const LoadedTable* FindTable(absl::string_view name) const;
};

// All rows that `reader`'s table has left.
absl::StatusOr<LoadedTable> LoadTable(const ModelTableHeader& header,
                                      ModelFileReader* reader);

// Errors: as ModelFileReader.
absl::StatusOr<LoadedModel> LoadModel(const std::string& path);

}  // namespace seraph

#endif  // SERAPH_COMMON_MODEL_FILE_LOADED_MODEL_H_
