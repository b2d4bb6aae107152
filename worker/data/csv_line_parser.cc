#include "worker/data/csv_line_parser.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/status/status_macros.h"
#include "worker/data/csv_cells.h"
#include "worker/data/number.h"
#include "worker/data/row_end.h"

namespace seraph {
namespace {

unsigned char FirstByte(absl::string_view text) {
  return text.empty() ? '\0' : static_cast<unsigned char>(text.front());
}

}  // namespace

CsvLineParser::CsvLineParser(const RecordRules& rules, CsvLayout layout)
    : layout_(std::move(layout)),
      delimiter_(rules.options.delimiter),
      missing_(rules.options.missing),
      hash_bits_(rules.options.hash_bits),
      text_labels_(rules.text_labels),
      labels_optional_(rules.labels_optional) {
  for (const std::string& token : missing_) {
    missing_starts_[FirstByte(token)] = true;
  }
}

absl::StatusOr<bool> CsvLineParser::Parse(absl::string_view line,
                                          RecordBlock* block) const {
  Batch& batch = block->records;
  Label label{.value = std::numeric_limits<double>::quiet_NaN()};
  CsvCells cells(line, delimiter_);
  absl::string_view cell;
  size_t count = 0;
  bool blank = true;
  while (true) {
    SERAPH_ASSIGN_OR_RETURN(const bool more, cells.Next(&cell));
    if (!more) break;
    blank = blank && cell.empty() && count == 0;
    if (count < layout_.columns.size() && !(blank && cells.AtEnd())) {
      SERAPH_RETURN_IF_ERROR(ParseCell(count, cell, &label, &batch));
    }
    ++count;
  }
  if (blank && count == 1) return false;
  if (count != layout_.columns.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, count == 1 ? " cell" : " cells", " where the ",
                     layout_.names.empty() ? "first record" : "header", " has ",
                     layout_.columns.size()));
  }
  bool sorted = true;
  for (size_t i = batch.row_starts.back() + 1; i < batch.keys.size(); ++i) {
    sorted = sorted && batch.keys[i - 1] < batch.keys[i];
  }
  // Two categories may have the same key: that is what hashing costs.
  if (!sorted) SERAPH_RETURN_IF_ERROR(SortUnfinishedRow(&batch).status());
  if (!label.text.empty() || !block->label_texts.empty()) {
    block->label_texts.resize(batch.size());
    block->label_texts.push_back(std::move(label.text));
  }
  FinishRow(label.value, /*group=*/0, &batch);
  return true;
}

absl::Status CsvLineParser::ParseCell(size_t column, absl::string_view cell,
                                      Label* label, Batch* batch) const {
  const CsvColumn& use = layout_.columns[column];
  switch (use.role) {
    case CsvColumn::Role::kIgnored:
      return absl::OkStatus();
    case CsvColumn::Role::kLabel:
      return ParseLabel(column, cell, label);
    case CsvColumn::Role::kNumber: {
      if (IsMissing(cell)) return absl::OkStatus();
      float value;
      const NumberError error = ParseFloat(cell, &value);
      if (error != NumberError::kNone) {
        return absl::InvalidArgumentError(absl::StrCat(
            layout_.Describe(column), ": ", InQuotes(cell), " ", Reason(error),
            error == NumberError::kNotANumber
                ? " (data.options.columns leaves a column out, "
                  "data.options.categorical takes its texts as names)"
                : ""));
      }
      if (value == 0) return absl::OkStatus();
      batch->keys.push_back(use.key);
      batch->values.push_back(value);
      return absl::OkStatus();
    }
    case CsvColumn::Role::kCategory:
      if (IsMissing(cell)) return absl::OkStatus();
      batch->keys.push_back(CategoryKey(use.key, cell));
      batch->values.push_back(1);
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status CsvLineParser::ParseLabel(size_t column, absl::string_view cell,
                                       Label* label) const {
  const auto refuse = [this, column, cell](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "label ", InQuotes(cell), " in ", layout_.Describe(column), " ", why));
  };
  if (IsMissing(cell)) {
    return labels_optional_ ? absl::OkStatus() : refuse("is missing");
  }
  double value;
  const NumberError error = ParseDouble(cell, &value);
  if (error == NumberError::kNone) {
    label->value = value;
    return absl::OkStatus();
  }
  if (error != NumberError::kNotANumber || !text_labels_) {
    return refuse(Reason(error));
  }
  // Labels are shown, and stored with the model.
  if (!IsUtf8(cell)) return refuse("is not UTF-8");
  label->value = 0;
  label->text = std::string(cell);
  return absl::OkStatus();
}

bool CsvLineParser::IsMissing(absl::string_view cell) const {
  if (!missing_starts_[FirstByte(cell)]) return false;
  for (const std::string& token : missing_) {
    if (cell == token) return true;
  }
  return false;
}

Key CsvLineParser::CategoryKey(uint64_t place, absl::string_view cell) const {
  const uint64_t hash = Draw(DrawLabel(cell), {place});
  if (hash_bits_ == 0) return hash | uint64_t{1} << 63;
  return layout_.features + (hash & ((uint64_t{1} << hash_bits_) - 1));
}

}  // namespace seraph
