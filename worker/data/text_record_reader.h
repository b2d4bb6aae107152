// Reads the records of a text file: libsvm, libffm, csv.
#ifndef SERAPH_WORKER_DATA_TEXT_RECORD_READER_H_
#define SERAPH_WORKER_DATA_TEXT_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/data_file.h"
#include "worker/data/line_parser.h"
#include "worker/data/record_block.h"
#include "worker/data/record_reader.h"
#include "worker/data/record_rules.h"

namespace seraph {

class TextRecordReader final : public RecordReader {
 public:
  // Errors: InvalidArgument for csv columns that are not there; what reading
  // gives, by errno. Requires: rules.format is a text format.
  static absl::StatusOr<std::unique_ptr<RecordReader>> Make(
      std::unique_ptr<DataFile> file, const RecordRules& rules);

  const std::string& path() const override { return file_->path(); }
  uint64_t size() const override { return file_->size(); }
  uint64_t columns() const override { return columns_; }
  const std::vector<std::string>& column_names() const override {
    return column_names_;
  }
  absl::Status ReadBlock(uint64_t begin, uint64_t end,
                         RecordBlock* block) const override;

 private:
  TextRecordReader(std::unique_ptr<DataFile> file, const DataOptions& options);

  const std::unique_ptr<const DataFile> file_;
  const BadRecordAction on_bad_record_;
  const uint64_t max_record_bytes_;
  std::unique_ptr<const LineParser> parser_;
  uint64_t data_begin_ = 0;  // Lines that begin before are no records.
  uint64_t columns_ = 0;
  std::vector<std::string> column_names_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_TEXT_RECORD_READER_H_
