// Writes a model file: docs/model-format.md.
#ifndef SERAPH_COMMON_MODEL_FILE_MODEL_FILE_WRITER_H_
#define SERAPH_COMMON_MODEL_FILE_MODEL_FILE_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/io/atomic_file.h"
#include "common/model_file/digest.h"
#include "common/model_file/model_file_format.h"
#include "common/model_file/model_metadata.h"

namespace seraph {

struct ModelFileSummary {
  std::string digest;  // "sha256:...".
  uint64_t rows = 0;   // Over all tables.
  uint64_t bytes = 0;  // Of the file.
};

// Streams a model to disk: the file gets its name when all of it is there, and
// a writer that is destroyed before leaves nothing behind. The bytes of the
// file depend on the metadata and the rows alone, not on how the rows were cut
// into calls.
//
//   auto writer = ModelFileWriter::Create(path, metadata);
//   for each table, by name:
//     writer->BeginTable({name, kind, keys, width});
//     writer->AddRows(keys, values);  // Any number of times.
//     writer->EndTable();
//   writer->Finish();
//
// Errors of all methods, besides those named below: whatever the disk says,
// with the path (ResourceExhausted when it is full). After an error every later
// call returns it.
//
// Threads: one at a time. Memory: two blocks, below 1 MiB, whatever the model.
class ModelFileWriter {
 public:
  // Creates the missing folders above `path`.
  static absl::StatusOr<std::unique_ptr<ModelFileWriter>> Create(
      const std::string& path, const ModelMetadata& metadata);

  ~ModelFileWriter();
  ModelFileWriter(const ModelFileWriter&) = delete;
  ModelFileWriter& operator=(const ModelFileWriter&) = delete;

  // Errors: InvalidArgument for a name that does not come after the last one,
  // or is empty or longer than kMaxTableNameBytes; a width of 0 or above
  // kMaxTableWidth; FailedPrecondition inside a table.
  absl::Status BeginTable(const ModelTableHeader& header);

  // values is [keys.size() * width], row-major.
  // Errors: InvalidArgument for keys that do not ascend (over the calls too),
  // a key beyond a dense table's last one, or a wrong number of values;
  // FailedPrecondition outside a table.
  absl::Status AddRows(absl::Span<const Key> keys,
                       absl::Span<const float> values);

  // Errors: FailedPrecondition outside a table.
  absl::Status EndTable();

  // Writes the footer, syncs, and gives the file its name.
  // Errors: FailedPrecondition inside a table.
  absl::StatusOr<ModelFileSummary> Finish();

 private:
  explicit ModelFileWriter(std::unique_ptr<AtomicFile> file);

  absl::Status WriteSection(absl::string_view tag, absl::string_view payload);
  absl::Status WriteBlock();
  absl::Status Remember(absl::Status status);

  const std::unique_ptr<AtomicFile> file_;
  ModelDigest digest_;
  absl::Status status_;

  std::optional<ModelTableHeader> table_;  // Set inside a table.
  std::string last_table_;
  std::optional<Key> last_key_;  // Of the table.
  uint64_t table_rows_ = 0;
  uint32_t tables_ = 0;
  uint64_t rows_ = 0;

  // The block that is being filled.
  std::vector<Key> keys_;
  std::vector<float> values_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_MODEL_FILE_MODEL_FILE_WRITER_H_
