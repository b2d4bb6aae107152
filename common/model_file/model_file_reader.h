// Reads a model file: docs/model-format.md.
#ifndef SERAPH_COMMON_MODEL_FILE_MODEL_FILE_READER_H_
#define SERAPH_COMMON_MODEL_FILE_MODEL_FILE_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/key.h"
#include "common/io/file_reader.h"
#include "common/model_file/digest.h"
#include "common/model_file/model_file_format.h"
#include "common/model_file/model_metadata.h"

namespace seraph {

// Streams a model from disk and checks all of it: each section's checksum, the
// order of tables and keys, the counts, and at the end the digest.
//
//   SERAPH_ASSIGN_OR_RETURN(auto reader, ModelFileReader::Open(path));
//   while (true) {
//     SERAPH_ASSIGN_OR_RETURN(auto table, reader->NextTable());
//     if (!table.has_value()) break;
//     while (true) {
//       SERAPH_ASSIGN_OR_RETURN(const bool more,
//                               reader->NextRows(&keys, &values));
//       if (!more) break;
//     }
//   }
//   reader->footer().digest ...
//
// Errors of all methods name the file:
//   NotFound, PermissionDenied, ...  the system's reason
//   InvalidArgument  this is no model file, or one of a version that this
//                    build cannot read
//   DataLoss         the file is damaged or ends early; the offset is named
// After an error every later call returns it.
//
// Threads: one at a time. Memory: one section, at most kMaxSectionBytes and
// about 256 KiB in files that ModelFileWriter wrote.
class ModelFileReader {
 public:
  // Reads the head and the metadata.
  static absl::StatusOr<std::unique_ptr<ModelFileReader>> Open(
      const std::string& path);

  const ModelMetadata& metadata() const { return metadata_; }

  // The next table; rows of the one before that were not taken are read and
  // checked. nullopt after the last table, when all of the file was found
  // right.
  absl::StatusOr<std::optional<ModelTableHeader>> NextTable();

  // Replaces `keys` and `values` ([keys * width], row-major) by the next rows
  // of the table; false at its end. Keys ascend over the calls.
  absl::StatusOr<bool> NextRows(std::vector<Key>* keys,
                                std::vector<float>* values);

  // Requires: NextTable() has returned nullopt.
  const ModelFileFooter& footer() const { return footer_; }

  uint64_t offset() const { return file_->offset(); }  // For progress bars.
  uint64_t size() const { return file_->size(); }

 private:
  explicit ModelFileReader(std::unique_ptr<FileReader> file);

  absl::Status ReadHead();
  absl::StatusOr<std::optional<ModelTableHeader>> ReadTableOrFooter();
  absl::StatusOr<bool> ReadRowsOrEnd(std::vector<Key>* keys,
                                     std::vector<float>* values);
  absl::Status TakeRows(absl::string_view payload, std::vector<Key>* keys,
                        std::vector<float>* values);
  absl::Status CheckFooter(absl::string_view payload);

  // The next section, its checksum checked, as tag_ and payload_.
  absl::Status ReadSection();
  absl::Status Damaged(absl::string_view what) const;
  absl::Status EndsEarly() const;

  const std::unique_ptr<FileReader> file_;
  absl::Status status_;
  ModelMetadata metadata_;
  ModelDigest digest_;
  ModelFileFooter footer_;
  bool complete_ = false;

  uint64_t section_offset_ = 0;
  std::string tag_;
  std::string payload_;

  std::optional<ModelTableHeader> table_;  // Set inside a table.
  std::string last_table_;
  std::optional<Key> last_key_;  // Of the table.
  uint64_t table_rows_ = 0;
  uint32_t tables_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_MODEL_FILE_MODEL_FILE_READER_H_
