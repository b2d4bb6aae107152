// csv: one record a line, features named by column.
#ifndef SERAPH_WORKER_DATA_CSV_LINE_PARSER_H_
#define SERAPH_WORKER_DATA_CSV_LINE_PARSER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/data/csv_layout.h"
#include "worker/data/line_parser.h"
#include "worker/data/record_block.h"
#include "worker/data/record_rules.h"

namespace seraph {

// Every record has the columns of the layout. Cells that mean 0 or "missing"
// give no entry: to a linear model both are the same, and wide files are mostly
// zeros.
class CsvLineParser final : public LineParser {
 public:
  CsvLineParser(const RecordRules& rules, CsvLayout layout);

  absl::StatusOr<bool> Parse(absl::string_view line,
                             RecordBlock* block) const override;

 private:
  // A label and the text that it is, if it is one.
  struct Label {
    double value = 0;
    std::string text;
  };

  absl::Status ParseCell(size_t column, absl::string_view cell, Label* label,
                         Batch* batch) const;
  absl::Status ParseLabel(size_t column, absl::string_view cell,
                          Label* label) const;
  bool IsMissing(absl::string_view cell) const;
  Key CategoryKey(uint64_t place, absl::string_view cell) const;

  const CsvLayout layout_;
  const char delimiter_;
  const std::vector<std::string> missing_;
  // By first byte, with '\0' for the empty cell: whether any of missing_ begins
  // so. Most cells are numbers and need no more than a look.
  std::array<bool, 256> missing_starts_ = {};
  const uint32_t hash_bits_;
  const bool text_labels_;
  const bool labels_optional_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_CSV_LINE_PARSER_H_
