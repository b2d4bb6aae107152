#include "worker/data/text_record_reader.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "worker/data/block_lines.h"
#include "worker/data/csv_layout.h"
#include "worker/data/csv_line_parser.h"
#include "worker/data/row_end.h"
#include "worker/data/sparse_line_parser.h"

namespace seraph {

TextRecordReader::TextRecordReader(std::unique_ptr<DataFile> file,
                                   const DataOptions& options)
    : file_(std::move(file)),
      on_bad_record_(options.on_bad_record),
      max_record_bytes_(options.max_record_bytes) {}

absl::StatusOr<std::unique_ptr<RecordReader>> TextRecordReader::Make(
    std::unique_ptr<DataFile> file, const RecordRules& rules) {
  auto reader =
      absl::WrapUnique(new TextRecordReader(std::move(file), rules.options));
  if (rules.format == DataFormat::kCsv) {
    SERAPH_ASSIGN_OR_RETURN(CsvLayout layout,
                            ReadCsvLayout(*reader->file_, rules));
    reader->data_begin_ = layout.data_begin;
    reader->columns_ = layout.features;
    reader->column_names_ = layout.feature_names;
    reader->parser_ = std::make_unique<CsvLineParser>(rules, std::move(layout));
  } else {
    reader->parser_ = std::make_unique<SparseLineParser>(rules);
  }
  return reader;
}

absl::Status TextRecordReader::ReadBlock(uint64_t begin, uint64_t end,
                                         RecordBlock* block) const {
  block->Clear();
  SERAPH_ASSIGN_OR_RETURN(
      BlockLines lines,
      BlockLines::Read(*file_, begin, end, max_record_bytes_));
  absl::string_view text;
  uint64_t offset;
  for (; lines.Next(&text, &offset); ++block->line_count) {
    if (offset < data_begin_) continue;
    const absl::StatusOr<bool> is_record = parser_->Parse(text, block);
    if (is_record.ok()) {
      if (!*is_record) continue;
      block->offsets.push_back(offset);
      block->lines.push_back(block->line_count);
    } else if (on_bad_record_ == BadRecordAction::kSkip) {
      DropUnfinishedRow(&block->records);
      block->bad.push_back(
          {block->line_count, std::string(is_record.status().message())});
    } else {
      SERAPH_ASSIGN_OR_RETURN(const uint64_t line, LineNumber(*file_, offset));
      return absl::InvalidArgumentError(
          absl::StrCat(path(), ":", line, ": ", is_record.status().message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace seraph
